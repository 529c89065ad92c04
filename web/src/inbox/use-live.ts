import { useThrottledCallback } from '@mantine/hooks';
import { type InfiniteData, notifyManager, type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { use, useEffect, useRef } from 'react';
import { refresh } from '../api/refresh.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { type StreamEvent, type StreamState, useStream } from '../api/stream.ts';
import { useNow } from '../ui/values.tsx';
import { type Activity, CONVERSATIONS, type Conversation, NEED, reportPresence } from './conversation.ts';
import { DraftsContext } from './drafts.tsx';

/** The list and the counts are refetched at most this often. */
const REFRESH_MS = 1_000;
const EVENTS = ['ready', 'reload', 'message', 'status', 'conversation', 'note', 'presence'] as const;

type Page = { readonly data: readonly Conversation[] };
type LiveMessage = Message & { readonly chatId: string };
type LiveStatus = {
  readonly chatId: string;
  readonly messageId: string;
  readonly deliveryStatus: NonNullable<Message['deliveryStatus']>;
};

/**
 * Keeps the cached inbox up to date with the server. The stream URL names the account, so that an operator who
 * switches accounts gets a new stream. `onArrived` is called for each inbound message, `onNote`
 * with each event about a note.
 */
export function useLive(onArrived: (message: LiveMessage) => void, onNote: (data: unknown) => void): StreamState {
  const queries = useQueryClient();
  const { account } = useSession();
  const refreshLists = useThrottledCallback(() => {
    void refresh(queries, ['inbox', 'list']);
    void refresh(queries, ['inbox', 'unread']);
    void refresh(queries, ['inbox', 'wishes']);
  }, REFRESH_MS);
  const apply = ({ event, data }: StreamEvent): void => {
    if (event === 'ready' || event === 'reload') void refresh(queries, ['inbox']);
    else if (event === 'message' && isMessage(data)) {
      changeThread(queries, data.chatId, (thread) => withMessage(thread, data));
      if (data.direction === 'INBOUND') onArrived(data);
    } else if (event === 'status' && isStatus(data))
      changeThread(queries, data.chatId, (thread) => withStatus(thread, data.messageId, data.deliveryStatus));
    else if (event === 'note' && isChat(data)) {
      void refresh(queries, ['inbox', 'notes', data.chatId]);
      onNote(data);
    } else if (event === 'presence' && isPresence(data)) storePresence(queries, data);
    else if (event === 'conversation' && isConversation(data)) {
      updateCachedConversation(queries, data);
      refreshLists();
    }
  };
  const collect = useFrames((events: readonly StreamEvent[]) =>
    notifyManager.batch(() => {
      for (const event of events) apply(event);
    }),
  );
  return useStream(`${CONVERSATIONS}/stream?account=${account.id}`, EVENTS, collect);
}

/** A hidden window draws no frames. */
const HIDDEN_MS = 250;

/** Returns a function that collects values and passes them on once a frame, so that typing keeps up with any number. */
function useFrames<T>(onFrame: (values: readonly T[]) => void): (value: T) => void {
  const waiting = useRef<T[]>([]);
  return (value) => {
    if (waiting.current.push(value) > 1) return;
    const flush = (): void => onFrame(waiting.current.splice(0));
    if (document.visibilityState === 'visible') requestAnimationFrame(flush);
    else setTimeout(flush, HIDDEN_MS);
  };
}

export function changeThread(queries: QueryClient, chatId: string, change: (thread: Thread) => Thread): void {
  queries.setQueryData<Thread>(threadKey(chatId), (thread) => thread && change(thread));
}

/** Updates a conversation in all cached lists and in its open page. Its position in a list is decided by the server. */
function updateCachedConversation(queries: QueryClient, conversation: Conversation): void {
  const isIt = ({ chatId }: Conversation): boolean => chatId === conversation.chatId;
  queries.setQueryData(['inbox', 'one', conversation.chatId], conversation);
  queries.setQueriesData<InfiniteData<Page>>({ queryKey: ['inbox', 'list'] }, (list) => {
    if (!list?.pages.some(({ data }) => data.some(isIt))) return list;
    const pages = list.pages.map((page) => ({
      ...page,
      data: page.data.map((each) => (isIt(each) ? conversation : each)),
    }));
    return { ...list, pages };
  });
}

const hasTexts = (data: unknown, names: readonly string[]): boolean =>
  typeof data === 'object' && data !== null && names.every((name) => typeof Reflect.get(data, name) === 'string');

const isChat = (data: unknown): data is { readonly chatId: string } => hasTexts(data, ['chatId']);
const isPresence = (data: unknown): data is LivePresence => hasTexts(data, ['chatId', 'username', 'activity']);
const isMessage = (data: unknown): data is LiveMessage => hasTexts(data, ['chatId', 'id', 'text', 'direction']);
const isStatus = (data: unknown): data is LiveStatus => hasTexts(data, ['chatId', 'messageId', 'deliveryStatus']);
const isConversation = (data: unknown): data is Conversation =>
  hasTexts(data, ['chatId', 'channel', 'lastMessageDate']);

/** Presence of another user in a conversation. `at` is when this browser was notified. */
type Sighting = { readonly username: string; readonly activity: Activity; readonly at: number };
type LivePresence = { readonly chatId: string; readonly username: string; readonly activity: Activity };

const REPORT_MS = 10_000;
/** Validity of a sighting: two and a half report intervals. */
const COUNTS_MS = 25_000;
const PAUSE_MS = 5_000;

const keyOf = (chatId: string) => ['presence', chatId] as const;
const NOBODY: readonly Sighting[] = [];

/** Stores an event of the stream about a user in a conversation. */
function storePresence(queries: QueryClient, { chatId, username, activity }: LivePresence): void {
  queries.setQueryData<readonly Sighting[]>(keyOf(chatId), (before = NOBODY) => [
    ...before.filter((one) => one.username !== username),
    ...(activity === 'LEFT' ? [] : [{ username, activity, at: Date.now() }]),
  ]);
}

/** The colleagues who look at a conversation or type in it now. */
export function useColleagues(chatId: string): readonly Sighting[] {
  const { user } = useSession();
  const now = useNow(1_000);
  const { data = NOBODY } = useQuery({ queryKey: keyOf(chatId), queryFn: () => NOBODY, enabled: false });
  return data.filter(({ username, at }) => username !== user.username && now.getTime() - at < COUNTS_MS);
}

/**
 * Reports to colleagues that the user looks at a conversation, or types in it, while it is open in a visible window.
 */
export function useReportPresence(chatId: string): void {
  const drafts = use(DraftsContext);
  const mayWrite = useSession().may(NEED);
  useEffect(() => {
    if (!mayWrite) return;
    let typedAt = 0;
    let text = drafts.get(chatId).text;
    let last: Activity = 'LOOKING';
    const report = (activity: Activity): void => {
      last = activity;
      // Presence is a courtesy: the next report follows within seconds.
      reportPresence(chatId, activity).catch(() => undefined);
    };
    report('LOOKING');
    const stopListening = drafts.listen(() => {
      const next = drafts.get(chatId).text;
      if (next === text) return;
      text = next;
      typedAt = next === '' ? 0 : Date.now();
      if (next !== '' && last !== 'TYPING') report('TYPING');
    });
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') report(Date.now() - typedAt < PAUSE_MS ? 'TYPING' : 'LOOKING');
    }, REPORT_MS);
    return () => {
      stopListening();
      clearInterval(timer);
      report('LEFT');
    };
  }, [chatId, drafts, mayWrite]);
}

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
type Thread = InfiniteData<readonly Message[], string | null>;

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
const withStatus = (thread: Thread, messageId: string, deliveryStatus: Message['deliveryStatus']): Thread =>
  mapMessages(thread, (message) => (message.id === messageId ? { ...message, deliveryStatus } : message));

const mapMessages = (thread: Thread, change: (message: Message) => Message): Thread => ({
  ...thread,
  pages: thread.pages.map((window) => window.map(change)),
});
