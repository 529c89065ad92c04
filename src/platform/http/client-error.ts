import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { randomUUIDv7 } from 'node:crypto';
import type { AppLog } from '../log.ts';
import { standardError } from './error-body.ts';

const FAULTS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The request headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive in time'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The request is too large'],
};
const MALFORMED = [400, 'The request is not valid HTTP'] as const;

/**
 * Answers requests that are not valid HTTP, or do not arrive in time, with the standard error body and a request id,
 * then closes the connection. It only closes when the peer is gone or an answer has already started.
 */
export const answerClientErrors =
  (log: AppLog) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable || hasStartedAnswer(socket)) return void socket.destroy();
    const requestId = randomUUIDv7();
    const [status, message] = FAULTS[error.code ?? ''] ?? MALFORMED;
    log.info({ requestId, status, code: error.code }, 'malformed request');
    socket.end(response(status, JSON.stringify(standardError({ status, message }, requestId)), requestId));
  };

/** Node keeps the answer in progress in this private property; its own handler of such errors reads it too. */
function hasStartedAnswer(socket: Socket): boolean {
  const message: unknown = Reflect.get(socket, '_httpMessage');
  return typeof message === 'object' && message !== null && Reflect.get(message, 'headersSent') === true;
}

const response = (status: number, body: string, requestId: string): string =>
  [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
