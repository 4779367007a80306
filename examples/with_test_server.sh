#!/bin/sh
# Runs a command with PERDURE_POSTGRES naming the server that the tests share (tests/support/postgres_shared.h), and drops
# the schema of the examples afterwards. ctest must start it: the file with the server's URL is named after that process.
set -eu

if [ -n "${PERDURE_TEST_POSTGRES:-}" ]; then
  url=$PERDURE_TEST_POSTGRES
else
  file=${PERDURE_TEST_POSTGRES_FOLDER:?run this with ctest, which sets it}/$PPID.url
  if ! [ -f "$file" ]; then
    echo "with_test_server.sh: there is no $file; run this with ctest, whose test postgres.start writes it" >&2
    exit 2
  fi
  read -r url <"$file"
fi

status=0
PERDURE_POSTGRES=$url "$@" || status=$?
PGOPTIONS='-c client_min_messages=warning' psql -qXd "$url" -c 'DROP SCHEMA IF EXISTS perdure_example CASCADE'
exit $status
