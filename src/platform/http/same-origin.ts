import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError } from '../errors.ts';
import { isSecure } from '../lib/session-cookie.ts';

type Request = Pick<FastifyRequest, 'method' | 'headers' | 'protocol' | 'host'>;

/** Pages of other sites cannot send this header: they would need a CORS preflight, which we do not answer. */
const CONSOLE_HEADER = 'x-heliograph-console';

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** Whether the request comes from the console, which shows its own sign-in page instead of the browser's dialog. */
export const isFromConsole = ({ headers }: Pick<Request, 'headers'>): boolean => headers[CONSOLE_HEADER] !== undefined;

/**
 * Returns 403 for a request that may change something and may come from a page of another site, in a browser that adds
 * our cookie by itself: it must have the console's header, and the browser must report our own origin. SameSite alone
 * would accept other ports of this host and other hosts of this site.
 */
export function crossOriginError(request: Request): AppError | undefined {
  if (SAFE.has(request.method)) return undefined;
  if (request.headers[CONSOLE_HEADER] !== '1')
    return new AppError('forbidden', {
      message: 'With a session this request needs the header X-Heliograph-Console: 1',
    });
  if (!isSameOrigin(request)) return new AppError('forbidden', { message: 'This request comes from another origin' });
  return undefined;
}

/** A hook that answers with `crossOriginError`, for the route line of a route without authentication. */
export const requireSameOrigin = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
  done(crossOriginError(request));

/** Browsers send Sec-Fetch-Site over HTTPS and on localhost; those from before 2023 may send only Origin. */
function isSameOrigin(request: Request): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && origin === `${isSecure(request) ? 'https' : 'http'}://${request.host}`;
}
