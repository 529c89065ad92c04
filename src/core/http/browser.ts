import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify';
import { AppError } from '../errors.ts';

/** Returns the value of a cookie in a Cookie header, or undefined. The first of several with the same name counts. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2);
    if (found === name && value) return value;
  }
  return undefined;
}

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

type Request = Pick<FastifyRequest, 'method' | 'headers' | 'protocol' | 'host'>;

/** Pages of other sites cannot send this header: they would need a CORS preflight, which we do not allow. */
const CONSOLE_HEADER = 'x-heliograph-console';

/** Methods that change nothing (RFC 9110 9.2.1). Browsers send OPTIONS in advance; no route handles it. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Returns true if the request comes from the console, which shows its own sign-in page instead of the browser's dialog.
 */
const isFromConsole = ({ headers }: Pick<Request, 'headers'>): boolean => headers[CONSOLE_HEADER] !== undefined;

/**
 * Returns true if the request comes from a page in a browser. The response must then contain no challenge: the browser
 * would open its own dialog, keep the password, and add it to later requests of every site. Sec-Fetch-Mode alone proves
 * nothing, because programs that use Node's fetch send it too.
 */
export const isFromBrowser = (request: Pick<Request, 'headers'>): boolean =>
  isFromConsole(request) ||
  request.headers['sec-fetch-site'] !== undefined ||
  request.headers['sec-fetch-dest'] !== undefined ||
  request.headers['sec-fetch-mode'] === 'navigate' ||
  request.headers.accept?.includes('text/html') === true;

/**
 * Returns 403 for a request that may change something and that a page of another origin sent, whatever its credentials,
 * also without any: browsers add cached passwords, cookies and the rights of an allowed address by themselves. Programs
 * send neither Sec-Fetch-Site nor Origin and are not affected.
 */
export function foreignPageError(request: Request): AppError | undefined {
  if (SAFE.has(request.method) || !isFromForeignPage(request)) return undefined;
  return new AppError('forbidden', { message: 'This request comes from a page of another origin' });
}

function isFromForeignPage(request: Request): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  // `none` marks an action of the user in the browser itself.
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  return origin !== undefined && origin !== originOf(request);
}

/**
 * Returns 403 for a request with a session that may change something, unless it certainly comes from one of our pages:
 * it must have the console's header, and the browser must report our own origin. SameSite alone would accept other
 * ports of this host and other hosts of this site.
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

/** A hook that rejects with `crossOriginError`, for the route line of a route without authentication. */
export const requireSameOrigin = (request: FastifyRequest, _reply: FastifyReply, done: HookHandlerDoneFunction): void =>
  done(crossOriginError(request));

/** Browsers send Sec-Fetch-Site over HTTPS and on localhost; those from before 2023 may send only Origin. */
function isSameOrigin(request: Request): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers;
  if (site !== undefined) return site === 'same-origin';
  return origin !== undefined && origin === originOf(request);
}

const originOf = (request: Request): string => `${isSecure(request) ? 'https' : 'http'}://${request.host}`;
