import type { NewChunk } from '../../../network/dispatch/sql.ts';
import type { Waker } from '../../../network/dispatch/wake.ts';
import { timeOfId } from '../../../platform/lib/ids.ts';
import type { Tracing } from '../../../platform/tracing.ts';
import type { RecentMessages } from './recent.ts';
import type { NewMessage } from './sql.ts';

/** A chunk of the queue and its messages, in the order of its ids. */
export type Queued = { readonly chunk: NewChunk; readonly messages: readonly NewMessage[] };

export type AnnounceDeps = {
  readonly waker: Waker;
  /** The messages for the pumps of this process; null if it has none. */
  readonly recentMessages: RecentMessages | null;
  /** Null, or omitted, where nothing is traced. */
  readonly tracing?: Tracing | null;
};

/**
 * Announces chunks to the pumps, once the transaction that queued them is committed: the pumps of this process get the
 * messages that are to be sent immediately, and all pumps of these connections are woken.
 */
export function announce({ waker, recentMessages, tracing }: AnnounceDeps, queued: readonly Queued[]): void {
  for (const { chunk, messages } of queued) if (chunk.availableAt === null) recentMessages?.put(messages);
  for (const connectionId of new Set(queued.map(({ chunk }) => chunk.connectionId))) waker.wake(connectionId);
  if (tracing) for (const { messages } of queued) traceAccepted(tracing, messages);
}

/** Traces the acceptance of messages. A message has its id from the beginning of its acceptance on. */
function traceAccepted(tracing: Tracing, messages: readonly NewMessage[]): void {
  const endMs = Date.now();
  for (const { id, accountId, channel } of messages) {
    if (!tracing.follows(id)) continue;
    tracing.record({
      name: 'accept',
      accountId,
      messageId: id,
      startMs: timeOfId(id).getTime(),
      endMs,
      channel,
      status: 'ACCEPTED',
    });
  }
}
