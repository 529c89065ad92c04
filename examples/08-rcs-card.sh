#!/usr/bin/env bash
# Sends an RCS card with buttons, and one that falls back to SMS.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
delivered() { # waits until the message with this reference is delivered, then prints it
  for _ in $(seq 150); do
    RECORD=$(call "$PG/messages/status/$1")
    [ "$(pick .deliveryStatus <<<"$RECORD")" = DELIVERED ] && echo "$RECORD" && return
    sleep 0.2
  done
  echo "not delivered: $RECORD" >&2 && return 1
}
AGENT=$(call "$BASE_URL/api/message-server/rcs/agents" | pick '.data[0].agentId')
REFERENCE=card-$(date +%s)-$$

card() { # a card to a number, with a reference
  cat <<JSON
{ "agentId": "$AGENT", "destination": "$1", "messageId": "$2",
  "body": { "type": "CARD", "card": {
    "title": "Your parcel arrives today", "description": "Between 14:00 and 16:00. Will you be at home?",
    "suggestions": [
      { "reply": { "text": "Yes", "postbackData": "home-yes" } },
      { "action": { "text": "Track it", "postbackData": "track",
                    "openUrlAction": { "url": "https://example.com/track" } } }
    ] } },
  "fallbackSms": { "sender": "ACME", "body": "Your parcel arrives today between 14:00 and 16:00." } }
JSON
}

echo '== A card. A tap on "Yes" comes back to you as an inbound message with "home-yes".'
card +491713920023 "$REFERENCE-1" | call "$BASE_URL/api/message-server/rcs/send" -d @-
delivered "$REFERENCE-1"

echo '== A number that RCS does not reach (0007 in the sandbox) gets the SMS. The status is that of the newest message.'
card +491713920007 "$REFERENCE-2" | call "$BASE_URL/api/message-server/rcs/send" -d @-
delivered "$REFERENCE-2"
