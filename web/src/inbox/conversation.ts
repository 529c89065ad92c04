import { api, ok } from '../api/client.ts';
import type { Need } from '../api/session.ts';
import { choice, text } from '../ui/url-state.ts';

export const CONVERSATIONS = '/api/partner-gateway/v1/inbox/conversations';

/** The permission that replying, assigning, archiving and marking require. */
export const NEED: Need = { scope: 'inbox', write: true };

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
export type Channel = (typeof CHANNELS)[number];

/** The open conversation and the list filters in the URL. */
export const FIELDS = {
  chat: text(),
  show: choice(['unread', 'snoozed', 'archived']),
  channel: choice(CHANNELS),
  /** `me`, `none` or the ID of a user. */
  assignee: text(),
  /** The ID of a label. */
  label: text(),
  q: text(),
};
export type Search = {
  readonly chat: string;
  readonly show: 'unread' | 'snoozed' | 'archived' | '';
  readonly channel: Channel | '';
  readonly assignee: string;
  readonly label: string;
  readonly q: string;
};

const PAGE_SIZE = 30;

/** Lists conversations, newest first. `userId` is the user for `me`. */
export const listConversations = (
  { show, channel, assignee, label, q }: Search,
  { page, userId, signal }: { readonly page: number; readonly userId: number; readonly signal: AbortSignal },
) =>
  ok(
    api.GET(CONVERSATIONS, {
      params: {
        query: {
          page,
          limit: PAGE_SIZE,
          archived: show === 'archived' || show === 'snoozed',
          ...(show === 'archived' && { snoozed: false }),
          ...(show === 'snoozed' && { snoozed: true }),
          unreadOnly: show === 'unread',
          ...(channel !== '' && { channelIds: [channel] }),
          ...(assignee !== '' && { assignee: assignee === 'me' ? String(userId) : assignee }),
          ...(label !== '' && { labelId: Number(label) }),
          ...(q !== '' && { search: q }),
        },
      },
      signal,
    }),
  );
export type Conversation = Awaited<ReturnType<typeof listConversations>>['data'][number];

export const findConversation = (chatId: string, signal: AbortSignal) =>
  ok(api.GET(`${CONVERSATIONS}/{chatId}`, { params: { path: { chatId } }, signal }));

export const listAssignable = async (signal: AbortSignal) =>
  (await ok(api.GET(`${CONVERSATIONS}/assignable-users`, { params: { query: { limit: 200 } }, signal }))).data;

export const readConversation = (chatId: string) =>
  ok(api.PATCH(`${CONVERSATIONS}/{chatId}/read`, { params: { path: { chatId } } }));

export const archiveConversation = (chatId: string) =>
  ok(api.PATCH(`${CONVERSATIONS}/{chatId}/archive`, { params: { path: { chatId } } }));

export const unarchiveConversation = (chatId: string) =>
  ok(api.PATCH(`${CONVERSATIONS}/{chatId}/unarchive`, { params: { path: { chatId } } }));

/** Assigns the conversation to a user; null unassigns it. */
export const assignConversation = ({ chatId, userId }: { chatId: string; userId: number | null }) =>
  userId === null
    ? ok(api.DELETE(`${CONVERSATIONS}/{chatId}/assignee`, { params: { path: { chatId } } }))
    : ok(api.POST(`${CONVERSATIONS}/{chatId}/assignee`, { params: { path: { chatId } }, body: { userId } }));
