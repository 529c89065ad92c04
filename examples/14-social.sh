#!/usr/bin/env bash
# Starts to connect a social media profile, and shows what the server still needs for it.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
NETWORK=${NETWORK:-linkedin}

echo '== The connected profiles.'
curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" "$PG/socials"

echo "== $NETWORK: 200 with the URL where the user gives consent, or 502 with the names of the missing settings."
# Set those, for example LINKEDIN_CLIENT_ID and LINKEDIN_CLIENT_SECRET, and restart Heliograph. The user is redirected to
# /oauth/$NETWORK/callback, and the profile then appears in the list above.
curl -sS -w '\nHTTP %{http_code}\n' -X POST -H "X-API-Key: $API_KEY" "$PG/socials/$NETWORK/connect"
