#!/usr/bin/env bash
# Uploads a picture, opens it by its link, and takes the link back.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start has shown}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of an answer
FOLDER=$(mktemp -d)
trap 'rm -r "$FOLDER"' EXIT

# A picture of one point. Yours: JPEG, PNG or GIF up to 5 MB, MP4 up to 16 MB.
node -e "process.stdout.write(Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'))" >"$FOLDER/point.png"

echo '== Uploaded. Its type is told from its content, and pictures are written anew: nothing hidden in them stays.'
MEDIA=$(curl -sS --fail-with-body -H "X-API-Key: $API_KEY" "$PG/media" \
  -F description='A point' -F file=@"$FOLDER/point.png")
echo "$MEDIA"
ID=$(pick .id <<<"$MEDIA")
URL=$(pick .url <<<"$MEDIA")

echo '== Its link works without credentials, until it expires or is taken back.'
curl -sS -o "$FOLDER/back" -w 'HTTP %{http_code} %{content_type}\n' "$URL"

echo '== Taken back: the same link leads nowhere now, and GET answers a fresh one.'
call -X POST "$PG/media/$ID/revoke-links"
curl -sS -o "$FOLDER/gone" -w 'HTTP %{http_code}\n' "$URL"
call "$PG/media/$ID"

echo '== What is no picture is refused, whatever it is called.'
echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$FOLDER/fake.png"
curl -sS -w '\nHTTP %{http_code}\n' -H "X-API-Key: $API_KEY" "$PG/media" -F file=@"$FOLDER/fake.png"

echo '== Deleted.'
call -X DELETE "$PG/media/$ID" -w 'HTTP %{http_code}\n'
