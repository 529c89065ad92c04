import { readCookie } from '../../platform/lib/cookie.ts';

/** Name of the cookie. Browsers accept this prefix only from this host, over HTTPS (or on the machine itself). */
const NAME = '__Host-heliograph-sign-on';

/**
 * Makes the Set-Cookie header with the secret of the browser that begins; 0 seconds remove it. SameSite=Lax: the cookie
 * is sent when the provider sends the person back, but with no form or script of another site.
 */
export const browserCookie = (secret: string, maxAgeSeconds: number): string =>
  `${NAME}=${secret}; Path=/; Max-Age=${maxAgeSeconds}; Secure; HttpOnly; SameSite=Lax`;

/** Reads the secret from the Cookie header of a browser; undefined if there is none. */
export const browserSecretIn = (header: string | undefined): string | undefined => readCookie(header, NAME);
