import type { InfiniteData } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { CONVERSATIONS } from '../conversation.ts';

const WINDOW_SIZE = 40;

/** Lists the newest messages, or those up to and including `idTo`; oldest first. */
export const listMessages = (chatId: string, idTo: string | null, signal: AbortSignal) =>
  ok(
    api.GET(`${CONVERSATIONS}/{chatId}/messages`, {
      params: { path: { chatId }, query: { limit: WINDOW_SIZE, ...(idTo !== null && { idTo }) } },
      signal,
    }),
  );
export type Message = Awaited<ReturnType<typeof listMessages>>[number];

/** The windows of a thread, newest first; within each, messages are oldest first. */
export type Thread = InfiniteData<readonly Message[], string | null>;

export const threadKey = (chatId: string) => ['inbox', 'thread', chatId] as const;

/** The ID at which the previous window ends; undefined at the start of the thread. */
export const olderThan = (window: readonly Message[]): string | undefined =>
  window.length < WINDOW_SIZE ? undefined : window[0]?.id;

/** The messages of a thread, oldest first, each once: adjacent windows share a message. */
export function messagesOf({ pages }: Pick<Thread, 'pages'>): readonly Message[] {
  const byId = new Map(pages.toReversed().flatMap((window) => window.map((message) => [message.id, message])));
  return [...byId.values()];
}

/**
 * The thread with this message: replaced if it is already there, otherwise added at the end. IDs increase with time.
 */
export function withMessage(thread: Thread, message: Message): Thread {
  const has = (window: readonly Message[]): boolean => window.some(({ id }) => id === message.id);
  if (thread.pages.some(has))
    return mapMessages(thread, (each) => (each.id === message.id ? { ...each, ...message } : each));
  const [newest = [], ...older] = thread.pages;
  return { ...thread, pages: [[...newest, message].sort((a, b) => (a.id < b.id ? -1 : 1)), ...older] };
}

/** The thread with a new delivery status of one message. */
export const withStatus = (thread: Thread, messageId: string, deliveryStatus: Message['deliveryStatus']): Thread =>
  mapMessages(thread, (message) => (message.id === messageId ? { ...message, deliveryStatus } : message));

const mapMessages = (thread: Thread, change: (message: Message) => Message): Thread => ({
  ...thread,
  pages: thread.pages.map((window) => window.map(change)),
});
