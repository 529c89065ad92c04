#!/usr/bin/env bash
# Makes a list, imports contacts.csv into it, reads it, and takes one contact out again.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of an answer
upload() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" "$PG/contacts/upload" "$@"; }
FILE=$(dirname "$0")/contacts.csv

echo '== A list.'
LIST=$(call "$PG/contacts/list" -d '{ "name": "Customers of the example" }')
echo "$LIST"
LIST_ID=$(pick .id <<<"$LIST")

echo '== First a trial: what would come of the file? Nothing is written. Line 5 has no valid number.'
upload -F dryRun=true -F file=@"$FILE"

echo '== The import, into the list. Numbers that are contacts already are changed; "City" becomes a custom field.'
IMPORT=$(upload -F listId="$LIST_ID" -F file=@"$FILE")
echo "$IMPORT"

echo '== The rows that were not brought in, as a CSV file with the reasons: mend it and send it again.'
call "$PG/contacts/imports/$(pick .importId <<<"$IMPORT")/rejects"

echo '== The contacts of the list, by name. Filters, page and limit are query parameters.'
CONTACTS=$(call "$PG/contacts/list/$LIST_ID/contacts?search=example&sortBy=fullName&limit=2")
echo "$CONTACTS"

echo '== One contact is changed (what is left out stays), and taken out of the list (the contact stays).'
CONTACT_ID=$(pick '.data[0].id' <<<"$CONTACTS")
call -X PUT "$PG/contacts/$CONTACT_ID" -d '{ "customFields": { "City": "Melbourne" } }'
call -X DELETE "$PG/contacts/list/contacts" -d '{ "listIds": ['"$LIST_ID"'], "contactIds": ['"$CONTACT_ID"'] }'

echo '== The list again, with its count.'
call "$PG/contacts/list/$LIST_ID"
