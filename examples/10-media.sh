#!/usr/bin/env bash
# Uploads a picture, opens it by its link, and revokes the link.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
call() { curl -sS --fail-with-body -w '\n' -H "X-API-Key: $API_KEY" -H 'Content-Type: application/json' "$@"; }
pick() { node -p "JSON.parse(require('fs').readFileSync(0))$1"; } # pick .id: one value of a response
FOLDER=$(mktemp -d)
trap 'rm -r "$FOLDER"' EXIT

# A picture of a single pixel. Allowed: JPEG, PNG or GIF up to 5 MB, MP4 up to 16 MB.
node -e "process.stdout.write(Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64'))" >"$FOLDER/point.png"

echo '== Uploaded. Its type is detected from its content, and pictures are re-encoded: nothing hidden in them remains.'
MEDIA=$(curl -sS --fail-with-body -H "X-API-Key: $API_KEY" "$PG/media" \
  -F description='A point' -F file=@"$FOLDER/point.png")
echo "$MEDIA"
ID=$(pick .id <<<"$MEDIA")
URL=$(pick .url <<<"$MEDIA")

echo '== Its link works without credentials, until it expires or is revoked.'
curl -sS -o "$FOLDER/back" -w 'HTTP %{http_code} %{content_type}\n' "$URL"

echo '== Revoked: the same link no longer works, and GET returns a new one.'
call -X POST "$PG/media/$ID/revoke-links"
curl -sS -o "$FOLDER/gone" -w 'HTTP %{http_code}\n' "$URL"
call "$PG/media/$ID"

echo '== A file that is not a picture is rejected, whatever its name.'
echo '<svg xmlns="http://www.w3.org/2000/svg"/>' >"$FOLDER/fake.png"
curl -sS -w '\nHTTP %{http_code}\n' -H "X-API-Key: $API_KEY" "$PG/media" -F file=@"$FOLDER/fake.png"

echo '== Deleted.'
call -X DELETE "$PG/media/$ID" -w 'HTTP %{http_code}\n'
