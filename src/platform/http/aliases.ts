const PG = '/api/partner-gateway/v1';

/** Older and shorter forms of a prefix, each rewritten to the prefix that has the routes. */
const ALIASES: readonly (readonly [alias: string, prefix: string])[] = [
  ['/partner-gateway/v1', PG],
  ['/api/v1/partner-gateway', PG],
  ['/api/services', '/services'],
];
const CONVERSATIONS: readonly [string, string] = [`${PG}/conversations`, `${PG}/inbox/conversations`];

/**
 * Limit above the path of any route: a client's own ID has up to 255 characters, each of up to twelve when it is
 * escaped.
 */
const MAX_PATH_LENGTH = 8 * 1024;
/** A path without a route. */
const UNKNOWN = '/api/unknown';

/** Rewrites an alias to the URL under which its route is registered; the rest of path and query stays the same. */
export function canonicalUrl(url: string): string {
  // Decoding, normalising and logging a path of 100 KB take milliseconds.
  if (url.length > MAX_PATH_LENGTH && !url.slice(0, MAX_PATH_LENGTH).includes('?')) return UNKNOWN;
  for (const [alias, prefix] of ALIASES) {
    if (isUnder(url, alias)) return replaceConversations(prefix + url.slice(alias.length));
  }
  return replaceConversations(url);
}

const replaceConversations = (url: string): string =>
  isUnder(url, CONVERSATIONS[0]) ? CONVERSATIONS[1] + url.slice(CONVERSATIONS[0].length) : url;

/** Returns true if the URL is under the prefix as a path: `/v10` is not under `/v1`. */
function isUnder(url: string, prefix: string): boolean {
  if (!url.startsWith(prefix)) return false;
  const next = url.charAt(prefix.length);
  return next === '' || next === '/' || next === '?';
}
