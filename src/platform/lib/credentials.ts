import { isSecure, sessionTokenIn } from './session-cookie.ts';

/** The credentials that a request presents, not yet verified. */
export type Credentials =
  | { readonly kind: 'key'; readonly value: string }
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  | { readonly kind: 'session'; readonly token: string }
  | { readonly kind: 'none' };

type Request = {
  readonly protocol: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
};

/**
 * Reads `X-API-Key` or `Authorization: Basic`. With both, only the key counts, even if it is wrong and the password
 * right (both schemes are accepted everywhere; the key is the narrower of the two). An empty key header, another
 * scheme and a malformed value count as `none`. A session cookie counts only if neither header is present.
 */
export function readCredentials(request: Request): Credentials {
  const { 'x-api-key': key, authorization, cookie } = request.headers;
  if (typeof key === 'string' && key !== '') return { kind: 'key', value: key };
  if (Array.isArray(key) || authorization !== undefined) return readBasic(authorization);
  const token = sessionTokenIn(typeof cookie === 'string' ? cookie : undefined, isSecure(request));
  return token === undefined ? { kind: 'none' } : { kind: 'session', token };
}

/** RFC 7617: the password may contain colons, the username may not. UTF-8, as announced in our challenge. */
function readBasic(header: string | string[] | undefined): Credentials {
  const encoded = typeof header === 'string' ? /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header)?.[1] : undefined;
  const pair = Buffer.from(encoded ?? '', 'base64').toString('utf8');
  const colon = pair.indexOf(':');
  if (colon < 1) return { kind: 'none' };
  return { kind: 'basic', username: pair.slice(0, colon), password: pair.slice(colon + 1) };
}
