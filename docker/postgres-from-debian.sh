#!/bin/sh
# Makes the database on the first start, then becomes the server.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  secret=$(mktemp)
  printf '%s' "$POSTGRES_PASSWORD" >"$secret"
  initdb --username="$POSTGRES_USER" --pwfile="$secret" --auth=scram-sha-256 --encoding=UTF8 >/dev/null
  rm -f "$secret"
  echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
  pg_ctl -w -o "-c listen_addresses='' -c unix_socket_directories=/tmp" start >/dev/null
  PGPASSWORD="$POSTGRES_PASSWORD" createdb -h /tmp -U "$POSTGRES_USER" "$POSTGRES_DB"
  pg_ctl -w stop >/dev/null
fi
exec postgres -c listen_addresses='*' -c unix_socket_directories=/tmp,/var/run/postgresql
