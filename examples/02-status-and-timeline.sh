#!/usr/bin/env bash
# Sends an SMS, follows it until it is delivered, and reads its whole history.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response

REFERENCE=status-$(date +%s)-$$
call "$BASE_URL/api/message-server/sms/send" -d '{
  "phoneNumber": "+61491570156", "message": "Hello", "customerMessageId": "'"$REFERENCE"'"
}'

echo '== Its status, by your reference (or by our messageId): ACCEPTED until the carrier has sent its receipt.'
for _ in $(seq 100); do
  RECORD=$(call "$PG/messages/status/$REFERENCE")
  [ "$(pick .deliveryStatus <<<"$RECORD")" = DELIVERED ] && break
  sleep 0.2
done
echo "$RECORD"

echo '== The timeline: what it cost, every attempt, and every receipt with the raw text of the carrier.'
call "$PG/messages/$(pick .messageId <<<"$RECORD")/timeline"

echo '== Many at once: up to 1,000 IDs in one request. Unknown ones are left out.'
call "$PG/messages/status?customerMessageIds=$REFERENCE,nothing-of-this-name"
