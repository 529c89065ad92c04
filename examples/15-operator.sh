#!/usr/bin/env bash
# What an operator does: connects a carrier over SMPP, routes a country to it, sets a price, and checks that it works.
# It uses operator commands, so run it where Heliograph runs, with its settings (DATA_DIR or DATABASE_URL, SECRET_KEY).
# The carrier is a second sandbox. At the end everything is removed again.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
CARRIER_PORT=${CARRIER_PORT:-2775}
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
cd "$(dirname "$0")/.."
operate() { node_modules/.bin/node src/main.ts "$@"; } # like npm run -s heliograph --
NAME=example-$$
FOLDER=$(mktemp -d)

echo '== A carrier, which logs what it accepts.'
node_modules/.bin/node src/main.ts sandbox --port "$CARRIER_PORT" --system-id user1 --password secret12 \
  --ledger "$FOLDER/ledger" >"$FOLDER/log" 2>&1 &
CARRIER=$!
clean_up() {
  kill "$CARRIER" && wait "$CARRIER" || true
  rm -r "$FOLDER"
}
trap clean_up EXIT
for _ in $(seq 300); do
  [ -s "$FOLDER/log" ] && break
  sleep 0.2
done
cat "$FOLDER/log"

echo '== The connection. A running program binds immediately. "connection list" shows its state and the last error.'
operate connection add smpp --name "$NAME" --host 127.0.0.1 --port "$CARRIER_PORT" --system-id user1 --password secret12 \
  --window 20 --tps 50
operate connection test "$NAME"

echo '== Numbers in Liechtenstein are routed to it, at their own price. (--json is for programs.)'
ROUTE=$(operate route add --channel SMS --prefix 423 --connection "$NAME" --json | pick .id)
PRICE=$(operate price set --channel SMS --prefix 423 --price 0.055 --json)
echo "$PRICE"

echo '== A message to Liechtenstein.'
SENT=$(call "$BASE_URL/api/message-server/sms/send" -d '{ "phoneNumber": "+4236601234", "message": "Hello" }')
for _ in $(seq 150); do
  RECORD=$(call "$PG/messages/status/$(pick .messageId <<<"$SENT")")
  [ "$(pick .deliveryStatus <<<"$RECORD")" = DELIVERED ] && break
  sleep 0.2
done
echo "$RECORD"

echo '== What the carrier accepted, from its own ledger.'
grep '"kind":"submit"' "$FOLDER/ledger"

echo '== Removed again: first the route and its price, then the connection.'
operate route remove "$ROUTE"
operate price remove "$(pick .id <<<"$PRICE")"
operate connection remove "$NAME"
