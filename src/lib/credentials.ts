/** What a request shows of its caller, not yet believed. */
export type Credentials =
  | { readonly kind: 'key'; readonly value: string }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'none' };

/**
 * Reads `X-API-Key` or `Authorization: Basic`. A request with both is its key's (contract 2 accepts both schemes
 * everywhere; the key is the narrower of the two), and a wrong key is not saved by a right password. An empty key
 * header, another scheme and a malformed value read as `none`.
 */
export function readCredentials(headers: Readonly<Record<string, string | string[] | undefined>>): Credentials {
  const key = headers['x-api-key'];
  if (typeof key === 'string' && key !== '') return { kind: 'key', value: key };
  return readBasic(headers['authorization']);
}

/** RFC 7617: the password may hold colons, the username not. UTF-8, as our challenge says. */
function readBasic(header: string | string[] | undefined): Credentials {
  const encoded = typeof header === 'string' ? /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] : undefined;
  const pair = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 1) return { kind: 'none' };
  return { kind: 'basic', username: pair.slice(0, colon), password: pair.slice(colon + 1) };
}
