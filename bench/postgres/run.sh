#!/bin/bash
# The store on PostgreSQL through the whole engine, on a server of its own: how fast nodes wake each other and what they
# ask while there is nothing to do, and one node against two.
# usage: run.sh <folder of the programs> [workflows] [rounds]
set -euo pipefail

programs=$(cd "${1:?usage: run.sh <folder of the programs> [workflows] [rounds]}" && pwd)
workflows=${2:-2000}
rounds=${3:-3}
if [ -z "${BENCH_POSTGRES:-}" ]; then
  exec "$(dirname "$0")/server.sh" "$0" "$programs" "$workflows" "$rounds"
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$programs/wake_ups" path="$BENCH_POSTGRES"

# median <column> <nodes>
median() { cut -d' ' -f"$1" "$folder/$2.out" | sort -g | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'; }

echo
echo "nodes that empty a store of $workflows workflows of 5 steps, each a process; CPU in microseconds a step"
printf '%6s %6s %10s %12s %12s %6s\n' fast nodes step/s 'nodes CPU' 'server CPU' idle
for fast in 0 1; do
  rm -f "$folder"/*.out
  for _ in $(seq "$rounds"); do
    for nodes in 1 2; do
      "$programs/cluster_steps" path="$BENCH_POSTGRES" nodes="$nodes" workflows="$workflows" fast="$fast" \
        >>"$folder/$nodes.out"
    done
  done
  for nodes in 1 2; do
    printf '%6s %6s %10s %12s %12s %5s%%\n' "$fast" "$nodes" "$(median 1 "$nodes")" "$(median 2 "$nodes")" \
      "$(median 3 "$nodes")" "$(median 4 "$nodes")"
  done
  echo "two nodes reach $(awk "BEGIN { printf \"%.2f\", $(median 1 2) / $(median 1 1) }") times what one does"
done
