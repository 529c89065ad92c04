#!/usr/bin/env bash
# A campaign that tries RCS first, then SMS for recipients that RCS does not reach.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response

# In the sandbox every account has an agent and templates. With a real connection, use your own.
AGENT=$(call "$BASE_URL/api/message-server/rcs/agents" | pick '.data[0].agentId')
TEMPLATE=$(call "$BASE_URL/api/message-server/rcs/templates?search=text" | pick '.data[0].id')

echo '== RCS first; the next channel after a final failure, or if nothing was delivered after 60 seconds.'
echo '   0007 at the end of a number: in the sandbox, RCS does not reach it.'
ID=$(call "$PG/campaigns" -d '{
  "name": "With fallback", "sendingMode": "RCS_SMS", "readyToSend": true,
  "rcsAgentId": "'"$AGENT"'", "rcsTemplateId": "'"$TEMPLATE"'",
  "smsSender": "ACME", "smsBody": "Hello {{firstName|there}}, this is the SMS.",
  "fallback": { "after": { "RCS": 60 } },
  "destinations": ["+491713920023", "+491713920007"]
}' | pick .id)
call -X POST "$PG/campaigns/$ID/calculateGoal"

echo '== The price is the maximum cost: everybody on the most expensive channels. What is not used is returned.'
call "$PG/campaigns/$ID/price"
call -X PUT "$PG/campaigns/$ID/confirm"

for _ in $(seq 300); do
  CAMPAIGN=$(call "$PG/campaigns/$ID")
  [ "$(pick .status <<<"$CAMPAIGN")" = 3 ] && break
  sleep 0.2
done
echo "$CAMPAIGN"

echo '== The channel on which each was reached. Nobody gets both: a message with an unknown outcome is never followed.'
call "$PG/campaigns/$ID/recipients"
