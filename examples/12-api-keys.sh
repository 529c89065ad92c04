#!/usr/bin/env bash
# Creates a key with few scopes, rotates it, and revokes it.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
as() { # a request with another key; prints only the status
  curl -sS -o /dev/null -w 'HTTP %{http_code}\n' -H "X-API-Key: $1" "$2"
}

echo '== A key that may send SMS and read their status. Its value is shown only once.'
KEY=$(call "$PG/authentication" -d '{ "name": "Shop", "operations": ["SMS", "tracking"] }')
ID=$(pick .id <<<"$KEY")
FIRST=$(pick .apiKey <<<"$KEY")
echo "key $ID, ${FIRST:0:12}…"

echo '== It may read statuses (200), but not contacts (403).'
as "$FIRST" "$PG/messages/status?ids=order-1"
as "$FIRST" "$PG/contacts"

echo '== A new value; the old one stays valid for another minute, so that you can replace it where it is used.'
SECOND=$(call "$PG/authentication/$ID/rotate" -d '{ "graceSeconds": 60 }' | pick .apiKey)
as "$FIRST" "$PG/messages/status?ids=order-1"
as "$SECOND" "$PG/messages/status?ids=order-1"

echo '== All keys of the account, without their values.'
call "$PG/authentication?limit=100"

echo '== Revoked: 401 from the next request on, in every process.'
call -X DELETE "$PG/authentication/$ID"
as "$SECOND" "$PG/messages/status?ids=order-1"

echo '== Who did what: the audit log.'
call "$PG/audit?limit=3"
