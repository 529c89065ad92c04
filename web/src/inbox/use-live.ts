import { useThrottledCallback } from '@mantine/hooks';
import { type InfiniteData, type QueryClient, useQueryClient } from '@tanstack/react-query';
import { refresh } from '../api/refresh.ts';
import { type StreamState, useStream } from '../api/stream.ts';
import { useSession } from '../api/session.ts';
import { type Conversation, CONVERSATIONS } from './conversation.ts';
import { type LivePresence, storePresence } from './presence/presence.ts';
import { type Message, type Thread, threadKey, withMessage, withStatus } from './thread/thread.ts';

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
 * switches accounts gets a new stream. `onArrived` is called for each inbound message.
 */
export function useLive(onArrived: (message: LiveMessage) => void): StreamState {
  const queries = useQueryClient();
  const { account } = useSession();
  const refreshLists = useThrottledCallback(() => {
    void refresh(queries, ['inbox', 'list']);
    void refresh(queries, ['inbox', 'unread']);
  }, REFRESH_MS);
  return useStream(`${CONVERSATIONS}/stream?account=${account.id}`, EVENTS, ({ event, data }) => {
    if (event === 'ready' || event === 'reload') void refresh(queries, ['inbox']);
    else if (event === 'message' && isMessage(data)) {
      changeThread(queries, data.chatId, (thread) => withMessage(thread, data));
      if (data.direction === 'INBOUND') onArrived(data);
    } else if (event === 'status' && isStatus(data))
      changeThread(queries, data.chatId, (thread) => withStatus(thread, data.messageId, data.deliveryStatus));
    else if (event === 'note' && isChat(data)) void refresh(queries, ['inbox', 'notes', data.chatId]);
    else if (event === 'presence' && isPresence(data)) storePresence(queries, data);
    else if (event === 'conversation' && isConversation(data)) {
      updateCachedConversation(queries, data);
      refreshLists();
    }
  });
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
