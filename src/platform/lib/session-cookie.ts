import { readCookie } from './cookie.ts';

/**
 * The __Host- prefix makes browsers accept the cookie only over HTTPS, from exactly this host and for all its paths, so
 * that a sibling host cannot plant one. Over plain HTTP, which is only served on the machine itself, browsers reject
 * it.
 */
const PROTECTED = '__Host-heliograph';
const PLAIN = 'heliograph';

/** Returns true if a request used HTTPS, to us or to a trusted proxy. Proxies vary in how they write `https`. */
export const isSecure = ({ protocol }: { readonly protocol: string }): boolean => protocol !== 'http';

/** Returns the session token in a Cookie header. Over HTTPS only the protected cookie counts. */
export const sessionTokenIn = (header: string | undefined, secure: boolean): string | undefined =>
  readCookie(header, secure ? PROTECTED : PLAIN);

/** Returns the Set-Cookie header that gives the browser a token; 0 seconds remove it. */
export const sessionCookie = (token: string, maxAgeSeconds: number, secure: boolean): string =>
  `${secure ? PROTECTED : PLAIN}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict` +
  (secure ? '; Secure' : '');
