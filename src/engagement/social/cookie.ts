import { readCookie } from '../../platform/lib/cookie.ts';
import { STATE_SECONDS } from './begin.ts';

/** The prefix makes browsers take it from this host alone, over HTTPS (or on the machine itself). */
const NAME = '__Host-heliograph-social';

/** Lax: it comes along when the network sends the person back, and with no form or script of another site. */
export const cookieOf = (secret: string): string =>
  `${NAME}=${secret}; Path=/; Max-Age=${STATE_SECONDS}; Secure; HttpOnly; SameSite=Lax`;

/** What a browser brought, from its Cookie header. */
export const browserSecretIn = (header: string | undefined): string | null => readCookie(header, NAME) ?? null;
