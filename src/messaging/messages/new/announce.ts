import type { NewChunk } from '../../../network/dispatch/sql.ts';
import type { Waker } from '../../../network/dispatch/wake.ts';
import type { RecentMessages } from './recent.ts';
import type { NewMessage } from './sql.ts';

/** A chunk of the queue and its messages, in the order of its ids. */
export type Queued = { readonly chunk: NewChunk; readonly messages: readonly NewMessage[] };

export type AnnounceDeps = {
  readonly waker: Waker;
  /** The messages for the pumps of this process; null if it has none. */
  readonly recentMessages: RecentMessages | null;
};

/**
 * Announces chunks to the pumps, once the transaction that queued them is committed: the pumps of this process get the
 * messages that are sent at once, and all pumps of these connections are woken.
 */
export function announce({ waker, recentMessages }: AnnounceDeps, queued: readonly Queued[]): void {
  for (const { chunk, messages } of queued) if (chunk.availableAt === null) recentMessages?.put(messages);
  for (const connectionId of new Set(queued.map(({ chunk }) => chunk.connectionId))) waker.wake(connectionId);
}
