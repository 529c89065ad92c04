#!/usr/bin/env bash
# Exports today's SMS as a file, and downloads it.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
FOLDER=$(mktemp -d)
trap 'rm -r "$FOLDER"' EXIT
TODAY=$(date -u +%Y-%m-%d)

# A reference that a spreadsheet would interpret as a formula.
call "$BASE_URL/api/message-server/sms/send" -d '{
  "phoneNumber": "+61491570156", "message": "Hello", "customerMessageId": "=SUM('"$$"')", "simulation": true
}'

echo '== The history, page by page: channel and time range are required.'
call "$PG/messages/history?channel=SMS&from=${TODAY}T00:00:00Z&to=${TODAY}T23:59:59Z&limit=1"

echo '== An export: 202 immediately, then created in the background; one request for any number of messages.'
ID=$(call "$PG/messages/history/export" -d '{
  "startDateTime": "'"$TODAY"'T00:00:00Z", "endDateTime": "'"$TODAY"'T23:59:59Z", "channel": "SMS", "format": "csv"
}' | pick .exportId)
for _ in $(seq 150); do
  EXPORT=$(call "$PG/exports/$ID")
  [ "$(pick .isAvailableForDownload <<<"$EXPORT")" = true ] && break
  sleep 0.2
done
echo "$EXPORT"

echo '== The file, by its link: no credentials, for 24 hours. Cells that look like formulas are made inert.'
curl -sS --fail -o "$FOLDER/messages.csv" "$(pick .downloadUrl <<<"$EXPORT")"
head -n 1 "$FOLDER/messages.csv"
grep -F "SUM($$)" "$FOLDER/messages.csv"

echo '== Contacts and delivery reports work the same way: POST …/exports/contacts and …/exports/delivery-reports.'
call "$PG/exports?limit=2"
