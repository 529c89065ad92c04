#!/usr/bin/env bash
# Creates a list, imports contacts.csv into it, reads it, and removes one contact from it.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
upload() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" "$PG/contacts/upload" "$@"; }
FILE=$(dirname "$0")/contacts.csv

echo '== A list.'
LIST=$(call "$PG/contacts/list" -d '{ "name": "Customers of the example" }')
echo "$LIST"
LIST_ID=$(pick .id <<<"$LIST")

echo '== First a dry run: what would the import do? Nothing is written. Line 5 has no valid number.'
upload -F dryRun=true -F file=@"$FILE"

echo '== The import, into the list. Existing contacts are updated; "City" becomes a custom field.'
IMPORT=$(upload -F listId="$LIST_ID" -F file=@"$FILE")
echo "$IMPORT"

echo '== The rows that were not imported, as a CSV file with the reasons: correct it and upload it again.'
call "$PG/contacts/imports/$(pick .importId <<<"$IMPORT")/rejects"

echo '== The contacts on the list, sorted by name. Filters, page and limit are query parameters.'
CONTACTS=$(call "$PG/contacts/list/$LIST_ID/contacts?search=example&sortBy=fullName&limit=2")
echo "$CONTACTS"

echo '== One contact is updated (omitted fields stay as they are), and removed from the list (the contact stays).'
CONTACT_ID=$(pick '.data[0].id' <<<"$CONTACTS")
call -X PUT "$PG/contacts/$CONTACT_ID" -d '{ "customFields": { "City": "Melbourne" } }'
call -X DELETE "$PG/contacts/list/contacts" -d '{ "listIds": ['"$LIST_ID"'], "contactIds": ['"$CONTACT_ID"'] }'

echo '== The list again, with its contact count.'
call "$PG/contacts/list/$LIST_ID"
