#!/usr/bin/env bash
# Sends a WhatsApp template, and a free-form message to somebody who has not written to you.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
ended() { # waits until a message has the status, then prints it
  for _ in $(seq 150); do
    RECORD=$(call "$PG/messages/status/$1")
    [ "$(pick .deliveryStatus <<<"$RECORD")" = "$2" ] && echo "$RECORD" && return
    sleep 0.2
  done
  echo "not $2: $RECORD" >&2 && return 1
}

echo '== The numbers from which you may send, and the templates that the network has approved.'
NUMBER=$(call "$BASE_URL/api/message-server/whatsapp/phone-numbers" | pick '.data[0].phoneNumberId')
echo "from $NUMBER"
call "$BASE_URL/api/message-server/whatsapp/templates?status=APPROVED"

echo '== A template with its variable. It is checked before anything is sent.'
SENT=$(call "$BASE_URL/api/message-server/whatsapp/send" -d '{
  "phoneNumberId": "'"$NUMBER"'", "destination": "+491713920023",
  "template": { "name": "sandbox_welcome", "language": "en", "variables": ["Ada"] }
}')
echo "$SENT"
ended "$(pick .messageId <<<"$SENT")" DELIVERED

echo '== The same as a WhatsApp status: SENT, DELIVERED, READ …'
call "$PG/whatsapp/messages/$(pick .messageId <<<"$SENT")"

echo '== A free-form text is for people who wrote within 24 hours. To others it is accepted, and ends CONVERSATION_CLOSED.'
SENT=$(call "$BASE_URL/api/message-server/whatsapp/send" -d '{
  "phoneNumberId": "'"$NUMBER"'", "destination": "+491713920024", "body": { "type": "TEXT", "text": "Hello" }
}')
ended "$(pick .messageId <<<"$SENT")" CONVERSATION_CLOSED
