#!/bin/bash
# Runs the bare SQLite program and the provider in turn, so that both see the same noise, and prints the median of each and
# their ratio. usage: compare.sh <folder of the programs> [rounds] [seconds]
set -euo pipefail

programs=${1:?usage: compare.sh <folder of the programs> [rounds] [seconds]}
rounds=${2:-5}
seconds=${3:-1.5}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

median() { sort -g | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'; }

# run <program> <arguments>: appends steps/s and CPU to the results of this pair.
run() {
  local name=$1; shift
  "$programs/$name" path="$folder/$name.db" seconds="$seconds" "$@" >>"$folder/$name.out"
  rm -f "$folder/$name.db"*
}

printf '%-7s %6s %14s %14s %7s %14s %14s\n' shape batch 'ceiling step/s' 'provider' ratio 'ceiling us CPU' 'provider'
for shape in plain fused; do
  for batch in 1 8 64 512; do
    rm -f "$folder"/*.out
    for _ in $(seq "$rounds"); do
      run sqlite_ceiling shape=$shape batch=$batch
      run provider_steps shape=$shape batch=$batch
    done
    ceiling=$(cut -d' ' -f1 "$folder/sqlite_ceiling.out" | median)
    provider=$(cut -d' ' -f1 "$folder/provider_steps.out" | median)
    printf '%-7s %6s %14s %14s %6.0f%% %14s %14s\n' $shape $batch "$ceiling" "$provider" \
      "$(awk "BEGIN { print 100 * $provider / $ceiling }")" \
      "$(cut -d' ' -f2 "$folder/sqlite_ceiling.out" | median)" "$(cut -d' ' -f2 "$folder/provider_steps.out" | median)"
  done
done

echo
echo 'cost of a step beside 100,000 idle instances and 10,000 future timers, against none (us CPU)'
for shape in plain fused; do
  for batch in 1 64; do
    rm -f "$folder"/*.out "$folder"/with "$folder"/without
    for _ in $(seq "$rounds"); do
      "$programs/provider_steps" path="$folder/a.db" seconds="$seconds" shape=$shape batch=$batch >>"$folder/without"
      rm -f "$folder"/a.db*
      "$programs/provider_steps" path="$folder/b.db" seconds="$seconds" shape=$shape batch=$batch others=100000 timers=10000 \
        >>"$folder/with"
      rm -f "$folder"/b.db*
    done
    without=$(cut -d' ' -f2 "$folder/without" | median)
    with=$(cut -d' ' -f2 "$folder/with" | median)
    printf '%-7s %6s %10s %10s %6.2f times; %s and %s steps/s\n' $shape $batch "$without" "$with" \
      "$(awk "BEGIN { print $with / $without }")" "$(cut -d' ' -f1 "$folder/without" | median)" \
      "$(cut -d' ' -f1 "$folder/with" | median)"
  done
done
