import { randomUUIDv7 } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ERRORS } from '../platform/errors.ts';
import { NOT_STORED } from '../platform/http/admission.ts';
import { standardError } from '../platform/http/error-body.ts';
import type { Log } from '../platform/lib/log.ts';
import { needsBody, readCaller } from './callers.ts';
import type { Directory } from './directory.ts';

/** `silent` returns the cells that do not answer. */
type DirectoryDeps = Readonly<{ directory: Directory; silent: () => readonly number[]; log: Log }>;

/** Asks which cell a request belongs to; what is behind it is the path of the request, unless a header names it. */
const ASK = '/cell';
/** The same, for requests whose body names the caller: the answer makes nginx send on the request that it has read. */
const REDIRECT = '/route';
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Returns what answers the questions of the proxy in front of the cells, and /health/live and /health/ready. A question is
 * answered 200 with the header X-Heliograph-Cell, or 503 while nobody can say where the request belongs.
 */
export function createDirectoryListener(deps: DirectoryDeps): RequestListener {
  return (request, response) => {
    const url = request.url ?? '/';
    if (url.startsWith('/health/')) return answerHealth(deps, url, response);
    if (!url.startsWith(ASK) && url !== REDIRECT) return void response.writeHead(404).end();
    void answer(deps, request, response).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a question of the proxy failed');
      refuse(response, ERRORS.unavailable[1]);
    });
  };
}

async function answer({ directory }: DirectoryDeps, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { headers, url = '/' } = request;
  const uri = textOf(headers, 'x-original-uri') ?? textOf(headers, 'x-forwarded-uri') ?? url.slice(ASK.length);
  const body = needsBody(uri) ? await readBody(request) : undefined;
  const protocol = textOf(headers, 'x-forwarded-proto') ?? 'http';
  const destination = await directory.find(readCaller({ uri, protocol, headers, body }));
  if (destination === 'later') return refuse(response, 'A part of the gateway that may know you is away');
  // The proxy reads nothing else, and each header takes time.
  response.sendDate = false;
  response.writeHead(200, {
    // The names of groups of servers in the proxy.
    'x-heliograph-cell': destination === 'any' ? 'any_cell' : `cell_${destination}`,
    'content-length': '0',
    ...(url === REDIRECT && { 'x-accel-redirect': '@cell' }),
  });
  response.end();
}

function refuse(response: ServerResponse, message: string): void {
  const failure = { status: 503, message, retryAfterSeconds: 1 };
  response.writeHead(503, {
    'retry-after': '1',
    'cache-control': NOT_STORED,
    'content-type': 'application/json; charset=utf-8',
  });
  response.end(JSON.stringify(standardError(failure, randomUUIDv7())));
}

function answerHealth({ directory, silent }: DirectoryDeps, url: string, response: ServerResponse): void {
  if (url !== '/health/ready' && url !== '/health/live') return void response.writeHead(404).end();
  const silentCells = silent();
  // Not unavailable: the callers of the other cells are served.
  const ready = {
    status: silentCells.length === 0 ? 'ok' : 'degraded',
    silentCells,
    knownCallers: directory.knownCount(),
  };
  const body = url === '/health/ready' ? ready : { status: 'ok' };
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
}

/** Reads a JSON body. One that is too large or none names nobody, and is refused by the cell. */
async function readBody(request: IncomingMessage): Promise<unknown> {
  let body = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) body = Buffer.concat([body, chunk]);
  }
  try {
    return bytes <= MAX_BODY_BYTES ? JSON.parse(body.toString('utf8')) : undefined;
  } catch {
    return undefined;
  }
}

function textOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
