#!/bin/bash
# Runs step_growth on a SQLite file of its own. usage: run.sh <folder of the programs>
set -euo pipefail

programs=${1:?usage: run.sh <folder of the programs>}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$programs/step_growth" store="$folder/growth.db"
