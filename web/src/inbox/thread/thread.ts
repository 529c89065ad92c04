import type { InfiniteData } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { CONVERSATIONS } from '../conversation.ts';

const WINDOW = 40;

/** The newest messages, or those up to `idTo` (included); oldest first. */
export const listMessages = (chatId: string, idTo: string | null, signal: AbortSignal) =>
  ok(
    api.GET(`${CONVERSATIONS}/{chatId}/messages`, {
      params: { path: { chatId }, query: { limit: WINDOW, ...(idTo !== null && { idTo }) } },
      signal,
    }),
  );
export type Message = Awaited<ReturnType<typeof listMessages>>[number];

/** Windows of a thread, the newest one first; in each the messages from the oldest on. */
export type Thread = InfiniteData<readonly Message[], string | null>;

export const threadKey = (chatId: string) => ['inbox', 'thread', chatId] as const;

/** Where the window before this one ends; undefined at the beginning of the thread. */
export const olderThan = (window: readonly Message[]): string | undefined =>
  window.length < WINDOW ? undefined : window[0]?.id;

/** Each once, from the oldest on: windows share the message at their edge. */
export function messagesOf({ pages }: Pick<Thread, 'pages'>): readonly Message[] {
  const byId = new Map(pages.toReversed().flatMap((window) => window.map((message) => [message.id, message])));
  return [...byId.values()];
}

/** With this message: in its place when it is there already, else at the end. Ids grow with time. */
export function withMessage(thread: Thread, message: Message): Thread {
  const has = (window: readonly Message[]): boolean => window.some(({ id }) => id === message.id);
  if (thread.pages.some(has))
    return mapMessages(thread, (each) => (each.id === message.id ? { ...each, ...message } : each));
  const [newest = [], ...older] = thread.pages;
  return { ...thread, pages: [[...newest, message].sort((a, b) => (a.id < b.id ? -1 : 1)), ...older] };
}

/** With what has become of an answer. */
export const withStatus = (thread: Thread, messageId: string, deliveryStatus: Message['deliveryStatus']): Thread =>
  mapMessages(thread, (message) => (message.id === messageId ? { ...message, deliveryStatus } : message));

const mapMessages = (thread: Thread, change: (message: Message) => Message): Thread => ({
  ...thread,
  pages: thread.pages.map((window) => window.map(change)),
});
