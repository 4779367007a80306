#!/bin/bash
# Sequential workflows on a SQLite file with full durability: throughput, latency, and the cost of a long history.
# usage: run.sh <folder of the programs> [workflows]
set -euo pipefail

programs=${1:?usage: run.sh <folder of the programs> [workflows]}
workflows=${2:-5000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

run() {
  "$programs/workflow_steps" store="$folder/steps.db" "$@"
  rm -f "$folder"/steps.db*
}
run steps=5 in_flight=1 workflows=$((workflows / 10))
run steps=100 in_flight=1 workflows=$((workflows / 100)) fast=0
run steps=100 in_flight=1 workflows=$((workflows / 100)) fast=1
run steps=5 in_flight=512 workflows="$workflows" fast=0
run steps=5 in_flight=512 workflows="$workflows" fast=1
run growth
