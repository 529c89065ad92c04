#!/usr/bin/env bash
# Registers a webhook, sends it a sample event, and shows what became of its events.
#
#   CALLBACK_URL=https://hooks.example.com/heliograph ./examples/03-webhook-register.sh
#
# The URL must be https on port 443 or 8443 and lead to a public address. To try it on one machine, make a certificate,
#
#   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
#     -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem
#
# start Heliograph with WEBHOOK_ALLOW_CIDRS=127.0.0.0/8,::1/128 and WEBHOOK_CA_FILE=cert.pem, and use
# CALLBACK_URL=https://localhost:8443/. With SECRET_FILE the secret is written there, and not shown.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
: "${CALLBACK_URL:?set CALLBACK_URL to the https address of your receiver}"
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of an answer

echo '== One webhook an account: a second registration replaces the first. Its secret is shown this once.'
WEBHOOK=$(call "$PG/webhooks/delivery-status" -d '{ "callbackUrl": "'"$CALLBACK_URL"'" }')
SECRET=$(pick .secret <<<"$WEBHOOK")
if [ -n "${SECRET_FILE:-}" ]; then
  (umask 077 && printf %s "$SECRET" >"$SECRET_FILE")
else
  echo "Start the receiver with WEBHOOK_SECRET=$SECRET, then press Enter."
fi
# Whoever starts the receiver with the secret says so by a line; a terminal that is closed says so too.
read -r _ || true

echo '== A sample event: "acknowledged" when the receiver answered 2xx within 5 seconds.'
call -X POST "$PG/webhooks/delivery-status/test"

echo '== A message: its changes go to the receiver from now on.'
call "$BASE_URL/api/message-server/sms/send" -d '{ "phoneNumber": "+61491570156", "message": "Hello" }'

echo '== The log of deliveries. What was not acknowledged is tried again for two days, and can be replayed.'
for _ in $(seq 100); do
  DELIVERIES=$(call "$PG/webhooks/delivery-status/deliveries")
  [ "$(pick .total <<<"$DELIVERIES")" -ge 2 ] && break
  sleep 0.2
done
echo "$DELIVERIES"
