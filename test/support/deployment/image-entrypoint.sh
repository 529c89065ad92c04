#!/usr/bin/env bash
# Stands for the two scripts of the image postgres:18 that deploy/postgres/start.sh ends in. It does what the image
# documents, as far as ha.yaml depends on it: an empty PGDATA becomes a database with the owner, the password and the name of
# the environment, the scripts in INIT_DIR run on it once, in this shell, while no other client can connect, and then the
# command runs, if there is one.
set -euo pipefail

if [ -s "$PGDATA/PG_VERSION" ]; then
  echo 'The database exists already.' >&2
else
  mkdir -p "$PGDATA"
  # Several arguments, like in the image.
  # shellcheck disable=SC2086
  initdb --pgdata "$PGDATA" --username "$POSTGRES_USER" --pwfile <(echo "$POSTGRES_PASSWORD") ${POSTGRES_INITDB_ARGS:-}
  echo 'host all all all scram-sha-256' >> "$PGDATA/pg_hba.conf"
  pg_ctl --pgdata "$PGDATA" --wait --options "-c listen_addresses=''" start
  export PGPASSWORD="$POSTGRES_PASSWORD"
  psql --username "$POSTGRES_USER" --dbname postgres --command "CREATE DATABASE \"$POSTGRES_DB\""
  for script in "$INIT_DIR"/*.sh; do
    . "$script"
  done
  unset PGPASSWORD
  pg_ctl --pgdata "$PGDATA" --wait --mode fast stop
fi

[ $# -eq 0 ] || exec "$@"
