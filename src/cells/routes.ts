import type { IncomingHttpHeaders, IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { ERRORS } from '../core/errors.ts';
import { NOT_STORED } from '../core/http/admission.ts';
import { standardError } from '../core/http/errors.ts';
import { newId } from '../core/ids.ts';
import type { Log } from '../core/log.ts';
import { type Directory, needsBody, readCaller } from './directory.ts';

/** `silent` returns the cells that do not respond. */
type DirectoryDeps = Readonly<{ directory: Directory; silent: () => readonly number[]; log: Log }>;

/**
 * Path prefix for asking which cell a request belongs to; the path of the request follows, unless a header names it.
 */
const ASK = '/cell';
/**
 * The same, for requests whose body names the caller: the response makes nginx forward the request that it has read.
 */
const REDIRECT = '/route';
const MAX_BODY_BYTES = 64 * 1024;

/**
 * Creates the listener for the requests of the proxy in front of the cells, and for /health/live and /health/ready. A
 * request gets a 200 and the header X-Heliograph-Cell, or a 503 while the cell is not known.
 */
export function createDirectoryListener(deps: DirectoryDeps): RequestListener {
  return (request, response) => {
    const url = request.url ?? '/';
    if (url.startsWith('/health/')) return answerHealth(deps, url, response);
    if (!url.startsWith(ASK) && url !== REDIRECT) return void response.writeHead(404).end();
    void answer(deps, request, response).catch((error: unknown) => {
      deps.log.error({ err: error }, 'a request of the proxy failed');
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
  if (destination === 'later')
    return refuse(response, 'The cell of this account cannot be determined now: a cell does not respond');
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
  response.end(JSON.stringify(standardError(failure, newId())));
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

/** Reads a JSON body. One that is too large or not JSON names no caller, and is rejected by the cell. */
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
