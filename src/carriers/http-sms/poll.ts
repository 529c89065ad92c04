import type { Inbound } from '../events.ts';
import { createHttpClient } from '../http/client.ts';
import { compileEvents, type HttpSmsEvents } from './callbacks.ts';
import type { HttpSmsContext } from './carrier.ts';
import { compilePlace, toDocument } from './place.ts';
import { compileRequests } from './request.ts';
import { type HttpSmsSecrets, type HttpSmsSettings, resolveSettings } from './settings.ts';
import { sharedValues } from './values.ts';

/** Result of a request for events. */
export type Polled =
  | (HttpSmsEvents & {
      readonly kind: 'events';
      /** Cursor for the next request; that of this request if the response names none. */
      readonly cursor: string;
      /** True if the cursor differs from the previous one. */
      readonly hasMoved: boolean;
    })
  | { readonly kind: 'failed'; readonly reason: string };

/** Fetches the events of a carrier without callbacks. */
export type Poller = {
  /** The pause after a response without events. */
  readonly intervalMs: number;
  /** Maximum time of one request. */
  readonly timeoutMs: number;
  /** Fetches the events after a cursor; null starts from the beginning. Never rejects. */
  poll(cursor: string | null): Promise<Polled>;
  /**
   * Confirms to the carrier that everything up to this cursor is stored. Resolves with an error text, or null. Never
   * rejects.
   */
  confirm(cursor: string): Promise<string | null>;
  close(): Promise<void>;
};

/** Older callbacks count as replayed by an attacker; polled events may be older, because they waited for us. */
const MAX_AGE_MS = 7 * 24 * 3_600_000;

function withoutOldTime(inbound: Inbound): Inbound {
  const { rich } = inbound;
  if (!rich?.at || rich.at.getTime() > Date.now() - MAX_AGE_MS) return inbound;
  return { ...inbound, rich: { ...rich, at: null } };
}

/** Creates the poller of a connection; null if its carrier sends callbacks. */
export function createPoller(
  settings: HttpSmsSettings,
  secrets: HttpSmsSecrets,
  { callbackUrl, lookup, isAllowed }: HttpSmsContext,
): Poller | null {
  const resolved = resolveSettings(settings);
  const { poll, connectTimeoutSeconds, submitTimeoutSeconds } = resolved;
  if (!poll) return null;
  const timeoutMs = submitTimeoutSeconds * 1000;
  const http = createHttpClient({
    connections: 1,
    connectTimeoutMs: connectTimeoutSeconds * 1000,
    timeoutMs,
    ...(lookup && { lookup }),
    ...(isAllowed && { isAllowed }),
  });
  const shared = sharedValues(resolved, secrets, callbackUrl);
  const requestOf = (path: string, cursor: string) =>
    compileRequests({ ...resolved, probePath: path }, secrets).probe({ ...shared, cursor });
  const readEvents = compileEvents(resolved);
  const readCursor = compilePlace(poll.cursor);
  const isTaken = (status: number): boolean => status >= 200 && status <= 299;
  return {
    intervalMs: poll.intervalSeconds * 1000,
    timeoutMs,
    async poll(cursor) {
      const from = cursor ?? poll.start;
      const answer = await http.request(requestOf(poll.path, from));
      if (answer.kind === 'failed') return answer;
      if (!isTaken(answer.status)) return { kind: 'failed', reason: `The carrier answered ${answer.status}` };
      const document = toDocument(answer.body, answer.headers);
      const events = readEvents(document);
      if (events === null) return { kind: 'failed', reason: 'The answer has too many events' };
      const { receipts, inbounds } = events;
      const named = readCursor(document);
      if (document.json === undefined && named === '') return { kind: 'failed', reason: 'The answer is not JSON' };
      const next = named || from;
      return {
        kind: 'events',
        receipts,
        inbounds: inbounds.map(withoutOldTime),
        cursor: next,
        hasMoved: next !== from,
      };
    },
    async confirm(cursor) {
      if (poll.confirm === undefined) return null;
      const answer = await http.request({ ...requestOf(poll.confirm, cursor), method: 'DELETE' });
      if (answer.kind === 'failed') return answer.reason;
      return isTaken(answer.status) ? null : `The carrier answered ${answer.status}`;
    },
    close: http.close,
  };
}
