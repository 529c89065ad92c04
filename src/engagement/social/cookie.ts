import { readCookie } from '../../platform/lib/cookie.ts';
import { STATE_SECONDS } from './begin.ts';

/** Browsers accept a cookie with this prefix only from this host, over HTTPS (or on the machine itself). */
const NAME = '__Host-heliograph-social';

/**
 * Makes the Set-Cookie header with a secret. SameSite=Lax: the cookie is sent when the network sends the person back,
 * but with no form or script of another site.
 */
export const cookieOf = (secret: string): string =>
  `${NAME}=${secret}; Path=/; Max-Age=${STATE_SECONDS}; Secure; HttpOnly; SameSite=Lax`;

/** Reads the secret from the Cookie header of a browser; null if there is none. */
export const browserSecretIn = (header: string | undefined): string | null => readCookie(header, NAME) ?? null;
