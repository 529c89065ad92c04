import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError } from '../errors.ts';
import { isSecure } from '../lib/session-cookie.ts';

type Request = Pick<FastifyRequest, 'method' | 'headers' | 'protocol' | 'host'>;

/** No page of another site can send it: it would have to ask us first, and gets no answer to that. */
const CONSOLE_HEADER = 'x-heliograph-console';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether our own pages ask, who show a sign-in page of their own where a browser would open a dialog. */
export const isFromConsole = ({ headers }: Pick<Request, 'headers'>): boolean => headers[CONSOLE_HEADER] !== undefined;

/**
 * 403 to what may change something and may come from a page of another site, in a browser that adds our cookie by
 * itself: such a request must carry the console's header, and come from our own origin by what the browser says of it.
 * SameSite alone would let in pages of neighbours: other ports of this host, other hosts of this site.
 */
export function foreignRefusal(request: Request): AppError | undefined {
  if (SAFE.has(request.method)) return undefined;
  if (request.headers[CONSOLE_HEADER] !== '1')
    return new AppError('forbidden', { message: 'With a session this needs the header X-Heliograph-Console: 1' });
  if (!isOurs(request)) return new AppError('forbidden', { message: 'This request comes from another origin' });
  return undefined;
}

/** For the route line: the same for a route that asks for no credentials. */
export const refuseForeign = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
  done(foreignRefusal(request));

/** Browsers say Sec-Fetch-Site over HTTPS and on the machine itself; those of before 2023 may say Origin alone. */
function isOurs(request: Request): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && origin === `${isSecure(request) ? 'https' : 'http'}://${request.host}`;
}
