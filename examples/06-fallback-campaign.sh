#!/usr/bin/env bash
# A campaign that tries RCS first, and SMS for those whom RCS does not reach.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of an answer

# In the sandbox every account has an agent and templates. With a contract of your own these are yours.
AGENT=$(call "$BASE_URL/api/message-server/rcs/agents" | pick '.data[0].agentId')
TEMPLATE=$(call "$BASE_URL/api/message-server/rcs/templates?search=text" | pick '.data[0].id')

echo '== RCS first; the next channel after a final failure, or when nothing was delivered after 60 seconds.'
echo '   0007 at the end of a number: the sandbox says that RCS does not reach it.'
ID=$(call "$PG/campaigns" -d '{
  "name": "With fallback", "sendingMode": "RCS_SMS", "readyToSend": true,
  "rcsAgentId": "'"$AGENT"'", "rcsTemplateId": "'"$TEMPLATE"'",
  "smsSender": "ACME", "smsBody": "Hello {{firstName|there}}, this is the SMS.",
  "fallback": { "after": { "RCS": 60 } },
  "destinations": ["+491713920023", "+491713920007"]
}' | pick .id)
call -X POST "$PG/campaigns/$ID/calculateGoal"

echo '== The price is the most that it can cost: everybody by the dearest way. What is not needed comes back.'
call "$PG/campaigns/$ID/price"
call -X PUT "$PG/campaigns/$ID/confirm"

for _ in $(seq 300); do
  CAMPAIGN=$(call "$PG/campaigns/$ID")
  [ "$(pick .status <<<"$CAMPAIGN")" = 3 ] && break
  sleep 0.2
done
echo "$CAMPAIGN"

echo '== By which channel each was reached. Nobody gets both: what nobody knows the outcome of is never followed.'
call "$PG/campaigns/$ID/recipients"
