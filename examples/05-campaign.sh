#!/usr/bin/env bash
# A campaign from draft to completion: create it, count and price it, confirm it, watch it, and read each result.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response

echo '== A draft. {{firstName|there}} is the first name of the contact with that number, or "there" if there is none.'
ID=$(call "$PG/campaigns" -d '{
  "name": "Spring", "sendingMode": "SMS", "smsSender": "ACME", "smsBody": "Hello {{firstName|there}}, spring is here!",
  "destinations": ["+61491570156", "+61491570157", "+46701740605", "+61491570157", "not a number"]
}' | pick .id)
echo "campaign $ID"

echo '== Its goal: distinct recipients (a number counts once) and the exact cost. Everybody who is left out is counted.'
call -X POST "$PG/campaigns/$ID/calculateGoal"

echo '== Its price, by channel, country and number of parts.'
call "$PG/campaigns/$ID/price"

echo '== Confirmed too early: the 400 response names everything that is missing.'
curl -sS -w '\nHTTP %{http_code}\n' -X PUT -H "X-API-Key: $API_KEY" "$PG/campaigns/$ID/confirm"

echo '== Marked as final, and confirmed. The price is frozen; a retry with the same key gets the same response.'
call -X PUT "$PG/campaigns/$ID" -d '{ "readyToSend": true }'
call -X PUT -H "Idempotency-Key: confirm-$ID" "$PG/campaigns/$ID/confirm"

echo '== Watched until its status is 3 (completed). PUT …/pause, …/resume and …/cancel take effect immediately.'
for _ in $(seq 300); do
  CAMPAIGN=$(call "$PG/campaigns/$ID")
  [ "$(pick .status <<<"$CAMPAIGN")" = 3 ] && break
  sleep 0.2
done
echo "$CAMPAIGN"

echo '== The result for each recipient, and the figures by day.'
call "$PG/campaigns/$ID/recipients"
call "$PG/campaigns/$ID/stats?aggregateOn=day"
