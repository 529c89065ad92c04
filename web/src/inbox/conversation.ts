import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import { type Need, useSession } from '../api/session.ts';
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

const listAssignable = async (signal: AbortSignal) =>
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

export const INBOX = '/api/partner-gateway/v1/inbox';
const FRESH_MS = 60_000;

const listLabels = (signal: AbortSignal) => ok(api.GET(`${INBOX}/labels`, { signal }));
export type Label = Awaited<ReturnType<typeof listLabels>>[number];
export const labelsQuery = queryOptions({
  queryKey: ['inbox-labels'],
  queryFn: ({ signal }) => listLabels(signal),
  staleTime: FRESH_MS,
});

const listCannedAnswers = (signal: AbortSignal) => ok(api.GET(`${INBOX}/canned-answers`, { signal }));
export type CannedAnswer = Awaited<ReturnType<typeof listCannedAnswers>>[number];
export const cannedQuery = queryOptions({
  queryKey: ['canned-answers'],
  queryFn: ({ signal }) => listCannedAnswers(signal),
  staleTime: FRESH_MS,
});

const listNotes = (chatId: string, signal: AbortSignal) =>
  ok(api.GET(`${CONVERSATIONS}/{chatId}/notes`, { params: { path: { chatId } }, signal }));
export type Note = Awaited<ReturnType<typeof listNotes>>[number];
export const notesQuery = (chatId: string) =>
  queryOptions({ queryKey: ['inbox', 'notes', chatId], queryFn: ({ signal }) => listNotes(chatId, signal) });

export const addNote = ({ chatId, text }: { readonly chatId: string; readonly text: string }) =>
  ok(api.POST(`${CONVERSATIONS}/{chatId}/notes`, { params: { path: { chatId } }, body: { text } }));

export const deleteNote = (path: { readonly chatId: string; readonly id: string }) =>
  ok(api.DELETE(`${CONVERSATIONS}/{chatId}/notes/{id}`, { params: { path } }));

export const setLabels = ({ chatId, labelIds }: { readonly chatId: string; readonly labelIds: number[] }) =>
  ok(api.PUT(`${CONVERSATIONS}/{chatId}/labels`, { params: { path: { chatId } }, body: { labelIds } }));

export const snoozeConversation = ({ chatId, until }: { readonly chatId: string; readonly until: Date }) =>
  ok(
    api.PUT(`${CONVERSATIONS}/{chatId}/snooze`, { params: { path: { chatId } }, body: { until: until.toISOString() } }),
  );

export const unreadConversation = (chatId: string) =>
  ok(api.PATCH(`${CONVERSATIONS}/{chatId}/unread`, { params: { path: { chatId } } }));

export type Activity = 'LOOKING' | 'TYPING' | 'LEFT';
export const reportPresence = (chatId: string, activity: Activity) =>
  ok(api.PUT(`${CONVERSATIONS}/{chatId}/presence`, { params: { path: { chatId } }, body: { activity } }));

export const searchMessages = (search: string, signal: AbortSignal) =>
  ok(api.GET(`${INBOX}/messages`, { params: { query: { search, limit: 20 } }, signal }));

type Sender = { readonly value: string; readonly label: string };

const MAX_SENDERS = 200;

/** The account's WhatsApp numbers. */
async function listWhatsappSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/whatsapp/phone-numbers', { params: { query: { limit: MAX_SENDERS } }, signal }),
  );
  return data.map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber ?? phoneNumberId].filter((word) => word !== '').join(' · '),
  }));
}

/** The account's launched RCS agents. */
async function listRcsSenders(signal: AbortSignal): Promise<readonly Sender[]> {
  const { data } = await ok(
    api.GET('/api/message-server/rcs/agents', { params: { query: { limit: MAX_SENDERS } }, signal }),
  );
  return data.flatMap(({ agentId, displayName, status }) =>
    agentId === null || status !== 'LAUNCHED' ? [] : [{ value: agentId, label: displayName }],
  );
}

const SENDER_FRESH_MS = 300_000;

/** The senders of a channel; no API lists SMS senders. */
export const sendersQuery = (channel: Channel) =>
  queryOptions({
    queryKey: ['senders', channel],
    queryFn: ({ signal }) => (channel === 'RCS' ? listRcsSenders(signal) : listWhatsappSenders(signal)),
    staleTime: SENDER_FRESH_MS,
  });

type Assignable = Awaited<ReturnType<typeof listAssignable>>[number];

const NOBODY: readonly Assignable[] = [];

/** The users to whom conversations can be assigned, by name; empty while loading. */
export function useAssignable(): readonly Assignable[] {
  const { data = NOBODY } = useQuery({
    queryKey: ['assignable-users'],
    queryFn: ({ signal }) => listAssignable(signal),
    staleTime: FRESH_MS,
  });
  return data;
}

/** Returns a function that names a colleague by the username, which all events and notes have. */
export function useColleagueName(): (username: string) => string {
  const people = useAssignable();
  return (username) => people.find((person) => person.username === username)?.displayName || username;
}

/** The lists of a contact; undefined while they are loading, or if the user may not see contacts. */
export function useListsOf(contactId: number | null) {
  const may = useSession().may({ scope: 'contacts' });
  const { data } = useQuery({
    queryKey: ['contacts', 'lists-of', contactId],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/partner-gateway/v1/contacts/list', {
          params: { query: { contactIds: String(contactId) } },
          signal,
        }),
      ),
    enabled: may && contactId !== null,
  });
  return data?.data;
}

/** The contact's data; undefined while it is loading, or if the user may not see contacts. */
export function useContact(id: number | null) {
  const may = useSession().may({ scope: 'contacts' });
  const { data } = useQuery({
    queryKey: ['contacts', 'of-inbox', id],
    queryFn: ({ signal }) =>
      ok(api.GET('/api/partner-gateway/v1/contacts/{id}', { params: { path: { id: id ?? 0 } }, signal })),
    enabled: may && id !== null,
  });
  return data;
}
