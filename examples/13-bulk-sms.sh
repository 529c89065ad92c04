#!/usr/bin/env bash
# Sends many SMS in one request: up to 10,000 destinations.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }

# A request that is repeated with the same globalId within 24 hours gets the original response and sends nothing.
GLOBAL_ID=bulk-$(date +%s)-$$

echo '== Two texts, four destinations. One result for each, in the order of the request; an invalid one affects no other.'
call "$BASE_URL/services/sms/send" -d '{
  "globalId": "'"$GLOBAL_ID"'",
  "messages": [
    { "destinations": ["+61491570156", "+61491570157", "12"], "sender": "ACME", "body": "The shop opens at nine." },
    { "destinations": ["+46701740605"], "sender": "ACME", "body": "Butiken öppnar klockan nio." }
  ]
}'

echo '== The remaining credit.'
call "$BASE_URL/services/sms/credit"
