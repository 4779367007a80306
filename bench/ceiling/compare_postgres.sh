#!/bin/bash
# Runs the bare PostgreSQL program and the provider in turn on a server of their own, so that both see the same noise, and
# prints the median of each and their ratio, and how many round trips a step took.
# usage: compare_postgres.sh <folder of the programs> [rounds] [seconds]
# SHAPES, BATCHES and CONNECTIONS choose some of the table.
set -euo pipefail

programs=$(cd "${1:?usage: compare_postgres.sh <folder of the programs> [rounds] [seconds]}" && pwd)
rounds=${2:-5}
seconds=${3:-1.5}
if [ -z "${BENCH_POSTGRES:-}" ]; then
  exec "$(dirname "$0")/../postgres/server.sh" "$0" "$programs" "$rounds" "$seconds"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# median <column> <program>
median() { cut -d' ' -f"$1" "$folder/$2.out" | sort -g | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'; }

run() {
  local name=$1; shift
  psql --quiet --command=CHECKPOINT "$BENCH_POSTGRES"  # so that none comes while somebody measures
  "$programs/$name" path="$BENCH_POSTGRES" instances=4096 seconds="$seconds" warm_up=0.3 "$@" >>"$folder/$name.out"
}

echo 'CPU: microseconds a step, of the client and of the server'
printf '%-7s %6s %6s %14s %10s %6s %14s %14s %12s\n' \
  shape batch conns 'ceiling step/s' provider ratio 'ceiling CPU' 'provider CPU' 'round trips'
for shape in ${SHAPES:-plain fused}; do
  for connections in ${CONNECTIONS:-1 4}; do
    for batch in ${BATCHES:-1 8 64 512}; do
      rm -f "$folder"/*.out
      for _ in $(seq "$rounds"); do
        run postgres_ceiling shape="$shape" batch="$batch" connections="$connections"
        run provider_steps shape="$shape" batch="$batch" connections="$connections"
      done
      printf '%-7s %6s %6s %14s %10s %5.0f%% %14s %14s %12s\n' "$shape" "$batch" "$connections" \
        "$(median 1 postgres_ceiling)" "$(median 1 provider_steps)" \
        "$(awk "BEGIN { print 100 * $(median 1 provider_steps) / $(median 1 postgres_ceiling) }")" \
        "$(printf '%.0f %.0f' "$(median 2 postgres_ceiling)" "$(median 4 postgres_ceiling)")" \
        "$(printf '%.0f %.0f' "$(median 2 provider_steps)" "$(median 4 provider_steps)")" \
        "$(median 3 provider_steps)"
    done
  done
done
