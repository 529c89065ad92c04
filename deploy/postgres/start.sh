#!/usr/bin/env bash
# Starts one of the servers of deploy/compose/ha.yaml, in the image postgres:18. A server without data copies those of the
# one that accepts writes, and follows it. `init` creates the database of the first one, and exits. A server that was the
# primary does not start while another one is: it may have commits that the others never received.
#
#   NODE                   its name, for synchronous_standby_names
#   PEERS                  the names of the other servers, separated by commas
#   REPLICATION_PASSWORD   that of the role replicator, which primary.sh creates
set -euo pipefail

# libpq asks all hosts for the one that accepts writes; as a standby the server goes on asking, also after a failover.
primary="host=$PEERS user=replicator dbname=postgres target_session_attrs=read-write connect_timeout=3"
export PGPASSWORD="$REPLICATION_PASSWORD"

primary_answers() {
  psql --no-psqlrc --command 'SELECT' "$primary" > /dev/null 2>&1
}

if [ "${1:-}" = init ]; then
  if primary_answers; then
    echo "There is a database already: one of $PEERS accepts writes." >&2
    exit 1
  fi
  unset PGPASSWORD
  exec docker-ensure-initdb.sh
fi

if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Bash alone goes on after a signal that did not end the command it waits for.
  trap 'exit 1' INT TERM
  until primary_answers; do
    echo "$NODE has no data, and none of $PEERS accepts writes: waiting." >&2
    sleep 2
  done
  # A copy that was interrupted leaves no PGDATA behind.
  rm -rf "$PGDATA.new"
  pg_basebackup --pgdata "$PGDATA.new" --dbname "$primary" --write-recovery-conf --checkpoint fast
  rm -rf "$PGDATA"
  mv "$PGDATA.new" "$PGDATA"
elif [ ! -e "$PGDATA/standby.signal" ] && primary_answers; then
  echo "$NODE was the primary, and one of $PEERS is it now. Remove its volume, so that it becomes a standby." >&2
  exit 1
fi

unset PGPASSWORD
exec docker-entrypoint.sh postgres -c cluster_name="$NODE" "$@"
