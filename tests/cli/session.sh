#!/bin/bash
# A session as a user would type it, with the program that is installed and a worker beside it.
# usage: session.sh <perdure> <worker>
set -euo pipefail

perdure() { "$program" "$@"; }
program=$1
worker=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export PERDURE_STORE=sqlite:$folder/store.db

step=
fail() {
  echo "session: $step: $*" >&2
  exit 1
}
# expect <exit status> <words that it must print> <command>...
expect() {
  local wanted=$1 words=$2 output status=0
  shift 2
  step=$*
  output=$("$@" 2>&1) || status=$?
  [ "$status" -eq "$wanted" ] || fail "exit status $status, not $wanted: $output"
  grep -qF -- "$words" <<<"$output" || fail "printed '$output', without '$words'"
}

expect 5 "there is no store at" perdure start order-1 Purchase
expect 0 "started order-1 (Purchase)" perdure start order-1 Purchase --create --input '{"item": "lamp", "cents": 4200}'
expect 4 "was not run by any node" perdure wait order-1 --timeout 10ms

coproc WORKER { exec "$worker" "$folder/store.db"; }
worker_input=${WORKER[1]}
worker_id=$WORKER_PID

expect 0 "waiting for approval" perdure wait order-1 --status-change 0 --timeout 60s
expect 0 "lamp" perdure wait order-1 --kv item
expect 0 "raised 'approved'" perdure raise order-1 approved --data '"Ann"'
expect 0 'order-1: Completed "paid 4200, approved by Ann"' perdure wait order-1 --timeout 60s
expect 0 "Completed" perdure status order-1
expect 0 "OrchestrationCompleted" perdure history order-1
expect 6 "has already ended" perdure raise order-1 approved --data '"Bob"'
expect 3 "there is no instance 'order-2'" perdure cancel order-2

expect 0 "started" perdure start order-2 Purchase --input '{"item": "sofa", "cents": 1}'
expect 0 "sent the request to cancel order-2" perdure cancel order-2 --reason "out of stock"
expect 1 "out of stock" perdure wait order-2 --timeout 60s

eval "exec $worker_input>&-"
wait "$worker_id" || fail "the worker ended with $?"

expect 0 "exported 2 instances" perdure export -o "$folder/instances"
export PERDURE_STORE=sqlite:$folder/other.db
expect 0 "imported 2 instances" perdure import --create "$folder/instances"
expect 6 "already exists" perdure import "$folder/instances"
expect 0 "exported 2 instances" perdure export -o "$folder/again"
step="two exports"
cmp "$folder/instances" "$folder/again" || fail "differ"
expect 0 "approved by Ann" perdure wait order-1
expect 0 "OrchestrationCompleted" perdure history order-1
expect 0 "lamp" perdure kv order-1

expect 2 "pass --yes" perdure delete --all
expect 0 "deleted 2 instances" perdure delete --all --yes
expect 3 "there is no instance" perdure status order-1
