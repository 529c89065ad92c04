#!/usr/bin/env bash
# Connects a social media profile, shows it, and disconnects it. In the sandbox it plays the person who consents.
set -euo pipefail
: "${API_KEY:?set API_KEY to the key that the first start printed}"
BASE_URL=${BASE_URL:-http://127.0.0.1:8080}
PG=$BASE_URL/api/partner-gateway/v1
NETWORK=${NETWORK:-linkedin}
api() { curl -sS --fail-with-body -H "X-API-Key: $API_KEY" "$@"; }

echo '== The connected profiles.'
api -w '\n' "$PG/socials"

echo "== Start to connect a profile of $NETWORK: the URL where the person consents, valid for ten minutes."
# Without an app for the network, and without the sandbox, this is 502 with the names of the missing settings.
answer=$(api -X POST "$PG/socials/$NETWORK/connect")
url=$(sed -n 's/.*"authorizeUrl":"\([^"]*\)".*/\1/p' <<<"$answer")
echo "$url"
if [[ $url != */sandbox/social/* ]]; then
  echo "Open it in a browser. Afterwards, the profile is in the list above."
  exit
fi

echo '== The person grants access on the page of the network, which redirects the browser back.'
# A real network has a page for people. That of the sandbox can also be answered like this; try it in a browser, too.
scopes=$(sed -n 's/.*[?&]scope=\([^&]*\).*/\1/p' <<<"$url" | sed 's/%2C\|+\|%20/\n/g' | sed 's/^/\&sandbox_scope=/' | tr -d '\n')
choice='sandbox_decision=grant&sandbox_linked=3&sandbox_lifetime=5184000&sandbox_renewable=yes'
back=$(curl -sS -o /dev/null -w '%{redirect_url}' "$url&$choice$scopes")
curl -sS -o /dev/null -w 'HTTP %{http_code}\n' "$back"

echo '== The profile, with the pages, organisations or locations that belong to it.'
api -w '\n' "$PG/socials/$NETWORK"

echo '== Disconnected: access is revoked at the network, and the profile is deleted.'
api -w 'HTTP %{http_code}\n' -X DELETE "$PG/socials/$NETWORK"
