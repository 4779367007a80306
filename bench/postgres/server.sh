#!/bin/bash
# Runs a command beside a PostgreSQL server of its own, and removes the server when the command has ended. The command
# finds the server by $BENCH_POSTGRES, a URL. Durable as any server is: fsync and synchronous_commit are on.
# usage: server.sh <command> [argument]...
# BENCH_POSTGRES_SETTINGS: more lines for postgresql.conf.
set -euo pipefail

[ $# -gt 0 ] || { echo 'usage: server.sh <command> [argument]...' >&2; exit 2; }

# Debian keeps the server's programs out of PATH, a folder for each version.
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -n 1)
if [ -z "$bin" ]; then
  bin=$(dirname "$(command -v postgres)") || { echo 'there is no PostgreSQL server: run make setup' >&2; exit 2; }
fi

folder=$(mktemp -d)
as_server=()
if [ "$(id -u)" = 0 ]; then  # PostgreSQL refuses to run as root
  chown postgres "$folder"
  as_server=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
server=
stop() {
  if [ -n "$server" ]; then kill -INT "$server" 2>/dev/null && wait "$server" || true; fi
  rm -rf "$folder"
}
trap stop EXIT

cd "$folder"
"${as_server[@]}" "$bin/initdb" --pgdata="$folder/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C \
  >"$folder/initdb.log" 2>&1 || { cat "$folder/initdb.log" >&2; exit 2; }
cat >>"$folder/data/postgresql.conf" <<SETTINGS
listen_addresses = ''
unix_socket_directories = '$folder'
fsync = on
synchronous_commit = on
shared_buffers = 256MB
max_wal_size = 4GB
checkpoint_timeout = 1h
${BENCH_POSTGRES_SETTINGS:-}
SETTINGS
"${as_server[@]}" "$bin/postgres" -D "$folder/data" >"$folder/server.log" 2>&1 &
server=$!
tries=0
until "$bin/pg_isready" --quiet --host="$folder"; do
  if [ $((tries += 1)) -gt 300 ] || ! kill -0 "$server" 2>/dev/null; then
    cat "$folder/server.log" >&2
    exit 2
  fi
  sleep 0.1
done
cd "$OLDPWD"
BENCH_POSTGRES="postgresql://postgres@/postgres?host=$folder" "$@"
