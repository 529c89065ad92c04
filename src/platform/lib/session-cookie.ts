import { readCookie } from './cookie.ts';

/**
 * The prefix makes browsers take the cookie over HTTPS, for this host and for all its paths alone, so that no neighbour
 * can plant one. Over plain HTTP, which is served on the machine itself only, browsers would refuse it.
 */
const PROTECTED = '__Host-heliograph';
const PLAIN = 'heliograph';

/** Whether a request came by HTTPS, to us or to a proxy that we trust. Proxies spell the word as they like. */
export const isSecure = ({ protocol }: { readonly protocol: string }): boolean => protocol !== 'http';

/** The token of a session that a request brings in its Cookie header. Over HTTPS only the protected cookie counts. */
export const sessionTokenIn = (header: string | undefined, secure: boolean): string | undefined =>
  readCookie(header, secure ? PROTECTED : PLAIN);

/** A Set-Cookie that gives the browser this token; one of 0 seconds takes it away. */
export const sessionCookie = (token: string, maxAgeSeconds: number, secure: boolean): string =>
  `${secure ? PROTECTED : PLAIN}=${token}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict` +
  (secure ? '; Secure' : '');
