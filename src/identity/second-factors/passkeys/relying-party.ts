import type { FastifyRequest } from 'fastify';
import type { Config } from '../../../platform/config.ts';
import { isSecure } from '../../../platform/lib/session-cookie.ts';

/** Owner of passkeys: the origin of the console's pages, and the host name in it (WebAuthn, section 4). */
export type RelyingParty = { readonly origin: string; readonly id: string };

type Request = Pick<FastifyRequest, 'headers' | 'protocol' | 'host'>;

/**
 * Returns the relying party of a page that sends this request: PUBLIC_URL if the page states that it is there (a proxy
 * may not pass the host name on), otherwise the origin of the request itself. The browser signs the true origin, so
 * that a page elsewhere gains nothing by stating another one.
 */
export function relyingPartyOf(request: Request, { publicUrl }: Pick<Config, 'publicUrl'>): RelyingParty {
  const own = new URL(`${isSecure(request) ? 'https' : 'http'}://${request.host}`);
  const known = new URL(publicUrl);
  const { origin, hostname } = request.headers.origin === known.origin ? known : own;
  return { origin, id: hostname };
}
