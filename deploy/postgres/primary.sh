# Prepares a new database for standbys. The image postgres:18 runs it once, from /docker-entrypoint-initdb.d.
#
#   NODES                  the names of all servers, separated by commas
#   REPLICATION_PASSWORD   the password that the standbys connect with

# The names in double quotes: a hyphen is not allowed in them otherwise. The list is the same on all servers, so that it
# is right on the one that is promoted. ALTER SYSTEM counts from the next start on: as an argument of this first one it
# would let the commits of the set-up wait for standbys that do not exist yet.
names="\"${NODES//,/\", \"}\""
psql --no-psqlrc --set ON_ERROR_STOP=1 --set password="$REPLICATION_PASSWORD" --set standbys="ANY 1 ($names)" \
  --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" <<'SQL'
CREATE ROLE replicator LOGIN REPLICATION PASSWORD :'password';
ALTER SYSTEM SET synchronous_standby_names = :'standbys';
SQL
echo 'host replication replicator all scram-sha-256' >> "$PGDATA/pg_hba.conf"
