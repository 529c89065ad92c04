import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { EndConnection } from '../client-error.ts';
import type { Refusal } from './refusals.ts';

const SWEEP_MS = 1000;
/** Within this many sweeps a body must bring its next `MIN_BYTES`, or its end. */
const MAX_SWEEPS = 10;
const MIN_BYTES = 1024;

/** A request whose body has not arrived completely. */
type Open = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Bytes that the connection had received when the sweeps began to count. */
  read: number;
  sweeps: number;
};

type Options = { readonly end: EndConnection; readonly count: (bound: Refusal) => void };

/**
 * Ends requests of every route whose bodies stall: with 408 if less than 1 KiB arrives within 10 seconds, and without a
 * response if the rest of a body that already has its response takes longer than that. Bytes that we have not read yet
 * do not count against the client. Returns the function that stops watching.
 */
export function endSlowBodies(server: Server, { end, count }: Options): () => void {
  // Open requests by connection: one entry for each, however many requests there are between two sweeps.
  const open = new Map<Socket, Open>();

  const note = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request;
    if (hasBody(request)) open.set(socket, { request, response, read: socket.bytesRead, sweeps: 0 });
  };
  const sweep = (): void => {
    for (const [socket, body] of open) {
      if (socket.destroyed || body.request.complete) open.delete(socket);
      else if (isSlow(socket, body)) {
        open.delete(socket);
        count('slow_body');
        if (body.response.writableEnded) socket.destroy();
        else end(socket, TOO_SLOW);
      }
    }
  };
  server.on('request', note).on('checkExpectation', note);
  const timer = setInterval(sweep, SWEEP_MS).unref();
  return () => clearInterval(timer);
}

const TOO_SLOW = { status: 408, message: 'The request did not arrive in time', code: 'SLOW_BODY' } as const;

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Counts one sweep. */
function isSlow({ bytesRead }: Socket, body: Open): boolean {
  const isAnswered = body.response.writableEnded;
  const waitsForUs = body.request.readableLength > 0 || body.request.socket.isPaused();
  if (!isAnswered && (waitsForUs || bytesRead - body.read >= MIN_BYTES)) {
    body.read = bytesRead;
    body.sweeps = 0;
    return false;
  }
  body.sweeps++;
  return body.sweeps >= MAX_SWEEPS;
}
