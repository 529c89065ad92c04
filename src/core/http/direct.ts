import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { TSchema } from 'typebox';
import type { Actor, Authenticate, Scope } from '../actor.ts';
import type { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { AppLog } from '../log.ts';
import type { Metrics } from '../metrics.ts';
import type { Admission } from './admission.ts';
import { CHALLENGE, scopeError } from './auth.ts';
import { parseJson } from './body.ts';
import { markGathered } from './bounds.ts';
import { asAppError, isRefusal, standardError } from './errors.ts';
import { UNAUTHENTICATED_BODY_BYTES } from './unauthenticated.ts';
import { findUnknownFields } from './unknown-fields.ts';
import { validatorCompiler } from './validation.ts';

/**
 * Headers that change nothing about a request with a key: all others belong to the framework. Those of a proxy count
 * only if it is trusted.
 */
const PLAIN_HEADERS: ReadonlySet<string> = new Set([
  'host',
  'connection',
  'content-type',
  'content-length',
  'x-api-key',
  'user-agent',
  'accept-encoding',
  'accept-language',
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-real-ip',
]);
const JSON_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/json; charset=utf-8']);

/** Work for the caller of a request; resolves with the body of the response. */
type Work = (actor: Actor) => Promise<object>;

/** A POST that most of all requests are, with small bodies, and a handler that needs no more than these. */
export type DirectRoute = {
  /** The path under which the framework has the route as well. */
  readonly path: string;
  readonly scope: Scope;
  readonly body: TSchema;
  readonly authenticate: Authenticate;
  /** Reads a valid body. Throws for one that the framework then rejects. */
  read(body: unknown): Work;
};

type Deps = { readonly log: AppLog; readonly metrics: Pick<Metrics, 'httpSeconds'>; readonly admission: Admission };

/** Handles a request, or hands it to the framework, as if nothing had been read of it. */
export type Direct = (request: IncomingMessage, response: ServerResponse, framework: RequestListener) => void;

/**
 * Handles the plain requests of one route without the framework, which costs 70 of the 100 µs that HTTP takes for each.
 * Plain is a small valid body of known fields with a key and the usual headers. Everything else, and every response to
 * an invalid body, is the framework's; bodies and headers of the responses are the same. Limits on connections, slow
 * bodies and pipelining apply before this.
 */
export function createDirect(route: DirectRoute, { log, metrics, admission }: Deps): Direct {
  const { path, body } = route;
  const validate = validatorCompiler(() => ({}))({ schema: body, httpPart: 'body', method: 'POST', url: path });

  function workOf(bytes: Buffer): Work | null {
    try {
      const document = parseJson(bytes, body);
      if (validate(document) !== true || findUnknownFields(body, document).length > 0) return null;
      return route.read(document);
    } catch {
      return null;
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse, work: Work): Promise<void> {
    const startedAt = performance.now();
    const requestId = newId();
    const head = [...admission.headersOf(requestId), 'content-type', 'application/json; charset=utf-8'];
    const fields = { requestId, method: 'POST', route: path };
    let [status, text] = [200, ''];
    try {
      const { actor, headers } = await route.authenticate(admission.callerOf(request));
      for (const name in headers) head.push(name, headers[name] ?? '');
      const denied = scopeError(actor, route.scope, 'write');
      if (denied) throw denied;
      text = JSON.stringify(await work(actor));
    } catch (error) {
      const failure = asAppError(error);
      status = failure.status;
      text = JSON.stringify(standardError(failure, requestId));
      head.push(...headersOf(failure));
      if (status >= 500 && !isRefusal(failure))
        log.error({ ...fields, status, err: failure.cause ?? failure }, 'request failed');
    }
    head.push('content-length', String(Buffer.byteLength(text)));
    response.writeHead(status, head).end(text);
    const ms = performance.now() - startedAt;
    metrics.httpSeconds.observe({ method: 'POST', route: path, status }, ms / 1000);
    const level = status < 400 ? 'debug' : 'info';
    if (log.isLevelEnabled(level)) log[level]({ ...fields, status, ms: Math.round(ms * 10) / 10 }, 'request');
  }

  return (request, response, framework) => {
    if (request.url !== path || !isPlain(request) || admission.refusalOfProgram(request))
      return framework(request, response);
    readWhole(request, (bytes) => {
      const work = workOf(bytes);
      if (work) return void respond(request, response, work);
      // The end of the stream is announced in a later turn, so the body can still be put back.
      request.unshift(bytes);
      framework(request, response);
    });
  };
}

function isPlain({ method, headers, httpVersion }: IncomingMessage): boolean {
  if (method !== 'POST' || httpVersion !== '1.1' || !JSON_TYPES.has(headers['content-type'] ?? '')) return false;
  const length = Number(headers['content-length']);
  if (!(length > 0 && length <= UNAUTHENTICATED_BODY_BYTES) || typeof headers['x-api-key'] !== 'string') return false;
  if (headers['x-api-key'] === '') return false;
  for (const name in headers) if (!PLAIN_HEADERS.has(name) && !isOfProgram(name, headers[name])) return false;
  return true;
}

/** Headers that the HTTP libraries of programs send with every request; browsers send other values. */
const isOfProgram = (name: string, value: unknown): boolean =>
  (name === 'accept' && (value === '*/*' || String(value).startsWith('application/json'))) ||
  (name === 'sec-fetch-mode' && value === 'cors');

/** Calls back when all bytes of the body have arrived, and have been taken from the request. */
function readWhole(request: IncomingMessage, done: (bytes: Buffer) => void): void {
  const length = Number(request.headers['content-length']);
  markGathered(request);
  const onReadable = (): void => {
    if (request.readableLength < length) return;
    request.off('readable', onReadable);
    done(request.read());
  };
  request.on('readable', onReadable);
}

function headersOf({ code, headers, retryAfterSeconds }: AppError): string[] {
  const given = Object.entries(headers ?? {}).flatMap(([name, value]) => [name, String(value)]);
  if (code === 'unauthenticated') given.push('www-authenticate', CHALLENGE);
  if (retryAfterSeconds !== undefined) given.push('retry-after', String(Math.ceil(retryAfterSeconds)));
  return given;
}
