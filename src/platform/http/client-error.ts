import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { randomUUIDv7 } from 'node:crypto';
import type { AppLog } from '../log.ts';
import { NOT_STORED } from './admission.ts';
import { standardError } from './error-body.ts';

const FAULTS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The request is too large'],
};
const MALFORMED = [400, 'The request is not valid HTTP'] as const;
/** A client that has read its response closes the connection; one that does not would keep it open forever. */
const LINGER_MS = 2000;

/** Reason why a connection ends in the middle of a request: the response to its client, and the code in the log. */
export type EndReason = {
  readonly status: number;
  readonly message: string;
  readonly code: string;
  readonly retryAfterSeconds?: number;
};

/**
 * Responds to a request whose body has not arrived, unless a response has started already, and closes the connection.
 */
export type EndConnection = (socket: Socket, reason: EndReason) => void;

/**
 * Responds to requests that are not valid HTTP, or do not arrive in time, with the standard error body and a request
 * id, then closes the connection. It only closes it if the peer is gone or a response has already started.
 */
export const answerClientErrors =
  (end: EndConnection) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET') return void socket.destroy();
    const [status, message] = FAULTS[error.code ?? ''] ?? MALFORMED;
    end(socket, { status, message, code: error.code ?? '' });
  };

/** Creates the function that ends a connection with its own response, bypassing the router. */
export const createEndConnection =
  (log: AppLog): EndConnection =>
  (socket, { code, ...failure }) => {
    if (!socket.writable || hasStartedAnswer(socket)) return void socket.destroy();
    const requestId = randomUUIDv7();
    log.info({ requestId, status: failure.status, code }, 'malformed request');
    socket.end(response(failure, requestId));
    setTimeout(() => socket.destroy(), LINGER_MS).unref();
  };

/**
 * Returns true if a response has started. Node keeps the one in progress in this private property; its own handler of
 * such errors reads it too.
 */
function hasStartedAnswer(socket: Socket): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return typeof message === 'object' && message !== null && Reflect.get(message, 'headersSent') === true;
}

function response(failure: Omit<EndReason, 'code'>, requestId: string): string {
  const { status, retryAfterSeconds } = failure;
  const body = JSON.stringify(standardError(failure, requestId));
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    `Cache-Control: ${NOT_STORED}`,
    ...(retryAfterSeconds === undefined ? [] : [`Retry-After: ${retryAfterSeconds}`]),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
