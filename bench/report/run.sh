#!/bin/bash
# Runs `perdure bench` over workloads and stores, on a SQLite file and on a PostgreSQL server of its own, and writes a JSON
# file for each run. usage: run.sh <the program perdure> <folder for the files>
# BENCH_SECONDS: how long each run is measured, 2 unless it says otherwise.
set -euo pipefail

[ $# -ge 2 ] || { echo 'usage: run.sh <the program perdure> <folder for the files>' >&2; exit 2; }
program=$(realpath "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
seconds=${BENCH_SECONDS:-2}
here=$(cd "$(dirname "$0")" && pwd)

# measure <name of the file> <argument of perdure bench>...
measure() {
  local name=$1; shift
  printf '   %s\n' "$name"
  if ! "$program" bench "$@" --seconds "$seconds" --json >"$folder/$name.json.part" 2>"$folder/errors"; then
    cat "$folder/errors" >&2
    rm -f "$folder/$name.json.part" "$folder/errors"
    exit 1
  fi
  rm -f "$folder/errors"
  mv "$folder/$name.json.part" "$folder/$name.json"
}

# The second part, beside the server.
if [ "${3:-}" = postgres ]; then
  for in_flight in 1 8 64 256; do
    measure "postgres-full-seq-$in_flight" seq --store "$BENCH_POSTGRES" --in-flight $in_flight
  done
  measure postgres-full-stress --store "$BENCH_POSTGRES" stress
  measure postgres-full-stress-0 --store "$BENCH_POSTGRES" stress --delay-ms 0
  exit 0
fi

rm -f "$folder"/*.json "$folder"/*.part
store=sqlite:$folder/store.db
for sync in full normal; do
  for workload in noop fan children signals timers payload idle stress; do
    measure "sqlite-$sync-$workload" $workload --store "$store" --sync $sync
  done
  measure "sqlite-$sync-stress-0" stress --store "$store" --sync $sync --delay-ms 0
  for in_flight in 1 8 64 256; do
    measure "sqlite-$sync-seq-$in_flight" seq --store "$store" --sync $sync --in-flight $in_flight
  done
done
BENCH_SECONDS=$seconds "$here/../postgres/server.sh" "$here/run.sh" "$program" "$folder" postgres
