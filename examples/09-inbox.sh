#!/usr/bin/env bash
# Somebody writes on WhatsApp; the conversation is found, read, replied to, and assigned to a user.
# It uses an operator command to make the sandbox deliver the message, so run it where Heliograph runs, with its settings.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
PERSON=+491713920042

echo "== $PERSON writes, through the sandbox."
(cd "$(dirname "$0")/.." && npm run -s heliograph -- \
  sandbox inbound --channel whatsapp --from "$PERSON" --text 'Are you still open?')

echo '== The conversation: unknown people become contacts. Free-form replies are delivered until "windowExpiresAt".'
for _ in $(seq 150); do
  FOUND=$(call -G "$PG/inbox/conversations" --data-urlencode "search=$PERSON")
  [ "$(pick .total <<<"$FOUND")" = 1 ] && break
  sleep 0.2
done
echo "$FOUND"
CHAT=$(pick '.data[0].chatId' <<<"$FOUND")

echo '== Its messages, oldest first. The text is untrusted: escape it wherever you show it.'
call "$PG/inbox/conversations/$CHAT/messages"

echo '== A reply, on the channel and from the number of the conversation.'
call "$PG/inbox/conversations/reply" -d '{ "chatId": "'"$CHAT"'", "text": "Yes, until six." }'

echo '== It is assigned to a user, marked as read, and archived until the person writes again.'
USER_ID=$(call "$PG/inbox/conversations/assignable-users" | pick '.data[0].id')
call -X POST "$PG/inbox/conversations/$CHAT/assignee" -d '{ "userId": '"$USER_ID"' }'
call -X PATCH "$PG/inbox/conversations/$CHAT/read"
call -X PATCH "$PG/inbox/conversations/$CHAT/archive"
call "$PG/inbox/conversations/$CHAT"
