#!/usr/bin/env bash
# Registers a webhook, sends it a test event, and shows the log of its events.
#
#   CALLBACK_URL=https://hooks.example.com/heliograph ./examples/03-webhook-register.sh
#
# The URL must be https on port 443 or 8443 and point to a public address. To try it on one machine, create a certificate,
#
#   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN=localhost \
#     -addext subjectAltName=DNS:localhost -keyout key.pem -out cert.pem
#
# start Heliograph with WEBHOOK_ALLOW_CIDRS=127.0.0.0/8,::1/128 and WEBHOOK_CA_FILE=cert.pem, and use
# CALLBACK_URL=https://localhost:8443/. With SECRET_FILE the secret is written to that file instead of being shown.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
: "${CALLBACK_URL:?set CALLBACK_URL to the https address of your receiver}"
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response

echo '== One webhook per account: a second registration replaces the first. Its secret is shown only once.'
WEBHOOK=$(call "$PG/webhooks/delivery-status" -d '{ "callbackUrl": "'"$CALLBACK_URL"'" }')
SECRET=$(pick .secret <<<"$WEBHOOK")
if [ -n "${SECRET_FILE:-}" ]; then
  (umask 077 && printf %s "$SECRET" >"$SECRET_FILE")
else
  echo "Start the receiver with WEBHOOK_SECRET=$SECRET, then press Enter."
fi
# Wait until the receiver has been started with the secret: a line, or the end of the input.
read -r _ || true

echo '== A test event: "acknowledged" if the receiver responded with 2xx within 5 seconds.'
call -X POST "$PG/webhooks/delivery-status/test"

echo '== A message: its status changes are sent to the receiver.'
call "$BASE_URL/api/message-server/sms/send" -d '{ "phoneNumber": "+61491570156", "message": "Hello" }'

echo '== The delivery log. Events that were not acknowledged are retried for two days, and can be replayed.'
for _ in $(seq 100); do
  DELIVERIES=$(call "$PG/webhooks/delivery-status/deliveries")
  [ "$(pick .total <<<"$DELIVERIES")" -ge 2 ] && break
  sleep 0.2
done
echo "$DELIVERIES"
