#!/usr/bin/env bash
# Somebody writes on WhatsApp; the conversation is found, read and answered, and assigned to a person.
# Lets the sandbox bring the message with an operator command, so it runs where Heliograph runs, with its settings.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of an answer
PERSON=+491713920042

echo "== $PERSON writes, through the sandbox."
(cd "$(dirname "$0")/.." && npm run -s heliograph -- \
  sandbox inbound --channel whatsapp --from "$PERSON" --text 'Are you still open?')

echo '== The conversation: unknown people become contacts. "windowExpiresAt" says until when a free-form answer arrives.'
for _ in $(seq 150); do
  FOUND=$(call -G "$PG/inbox/conversations" --data-urlencode "search=$PERSON")
  [ "$(pick .total <<<"$FOUND")" = 1 ] && break
  sleep 0.2
done
echo "$FOUND"
CHAT=$(pick '.data[0].chatId' <<<"$FOUND")

echo '== Its messages, oldest first. The text is a stranger’s: escape it wherever you show it.'
call "$PG/inbox/conversations/$CHAT/messages"

echo '== An answer, on the channel and from the number of the conversation.'
call "$PG/inbox/conversations/reply" -d '{ "chatId": "'"$CHAT"'", "text": "Yes, until six." }'

echo '== Somebody is made responsible, it is marked as read, and put away until the person writes again.'
USER_ID=$(call "$PG/inbox/conversations/assignable-users" | pick '.data[0].id')
call -X POST "$PG/inbox/conversations/$CHAT/assignee" -d '{ "userId": '"$USER_ID"' }'
call -X PATCH "$PG/inbox/conversations/$CHAT/read"
call -X PATCH "$PG/inbox/conversations/$CHAT/archive"
call "$PG/inbox/conversations/$CHAT"
