#!/usr/bin/env bash
# Sends one SMS, sends the same request again, and sends an invalid one.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }

# Your own reference. It is unique for 24 hours, and makes the request safe to retry.
REFERENCE=order-$(date +%s)-$$

echo '== One message. The response comes after it is committed; "accepted" means that it will be sent.'
call "$BASE_URL/api/message-server/sms/send" -d '{
  "phoneNumber": "+61491570156", "senderName": "ACME", "message": "Your parcel is on its way.",
  "customerMessageId": "'"$REFERENCE"'"
}'

echo '== The same again, as after a lost connection: the same response with the same messageId, and nothing is sent twice.'
call "$BASE_URL/api/message-server/sms/send" -d '{
  "phoneNumber": "+61491570156", "senderName": "ACME", "message": "Your parcel is on its way.",
  "customerMessageId": "'"$REFERENCE"'"
}'

echo '== An invalid request: 400, with every invalid field in "details". (No --fail here: curl shows the body.)'
curl -sS -w '\nHTTP %{http_code}\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' \
  "$BASE_URL/api/message-server/sms/send" -d '{ "phoneNumber": "12", "message": "" }'

echo '== Simulated: it is checked and stored, costs nothing and reaches no carrier. 0001 at the end makes it UNDELIVERABLE.'
call "$BASE_URL/api/message-server/sms/send" -d '{
  "phoneNumber": "+491713920001", "message": "Only a test", "simulation": true
}'
