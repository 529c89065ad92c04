#!/usr/bin/env bash
# Begins to connect a profile of a social network, and says what the server still needs for it.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
NETWORK=${NETWORK:-linkedin}

echo '== The profiles that are connected.'
curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" "$PG/socials"

echo "== $NETWORK: 200 with the address where the person agrees, or 502 with the names of what is not configured."
# Set those, for example LINKEDIN_CLIENT_ID and LINKEDIN_CLIENT_SECRET, and start Heliograph again. The person comes back to
# /oauth/$NETWORK/callback, and the profile is then in the list above.
curl -sS -w '\nHTTP %{http_code}\n' -X POST -H "X-API-Key: $API_KEY" "$PG/socials/$NETWORK/connect"
