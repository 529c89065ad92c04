import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import { choice, text } from '../ui/url-state.ts';

export const CHANNELS = ['SMS', 'WHATSAPP', 'RCS'] as const;
export const SOURCES = ['API', 'CAMPAIGN', 'INBOX'] as const;
/** The statuses of docs/message-states.md. */
export const STATUSES = [
  'ACCEPTED',
  'DELIVERED',
  'UNDELIVERABLE',
  'EXPIRED',
  'REJECTED',
  'DELETED',
  'UNKNOWN',
  'ERROR',
  'DISABLED',
  'UNSUPPORTED',
  'CONVERSATION_CLOSED',
] as const;
/** The time ranges to search, in days back from now. */
export const RANGES = ['1', '7', '30', '90'] as const;

/** The filters in the URL. */
export const FIELDS = {
  q: text(),
  channel: choice(CHANNELS),
  status: choice(STATUSES),
  source: choice(SOURCES),
  campaign: text(),
  days: choice(RANGES, '7'),
};
export type Filters = {
  readonly q: string;
  readonly channel: (typeof CHANNELS)[number] | '';
  readonly status: (typeof STATUSES)[number] | '';
  readonly source: (typeof SOURCES)[number] | '';
  readonly campaign: string;
  readonly days: (typeof RANGES)[number];
};

const DAY_MS = 86_400_000;
const PAGE_SIZE = 50;

/** The matching messages, newest first; each page has the cursor of the next. */
export const messagesQuery = (filters: Filters) =>
  infiniteQueryOptions({
    queryKey: ['messages', filters],
    initialPageParam: '',
    queryFn: ({ signal, pageParam }) =>
      ok(
        api.GET('/api/partner-gateway/v1/messages', {
          params: { query: { ...toQuery(filters), limit: PAGE_SIZE, ...(pageParam !== '' && { before: pageParam }) } },
          signal,
        }),
      ),
    getNextPageParam: ({ next }) => next,
  });

function toQuery({ q, channel, status, source, campaign, days }: Filters) {
  return {
    from: new Date(Date.now() - Number(days) * DAY_MS).toISOString(),
    ...(q !== '' && { q }),
    ...(channel !== '' && { channel }),
    ...(status !== '' && { status }),
    ...(source !== '' && { source }),
    ...(/^\d{1,15}$/.test(campaign) && { campaignId: Number(campaign) }),
  };
}

/** One message by its ID; null if it is not found. IDs are unique, so one result is enough. */
export const messageQuery = (id: string) =>
  queryOptions({
    queryKey: ['message', id],
    queryFn: async ({ signal }) => {
      const params = { query: { q: id, limit: 1 } };
      return (await ok(api.GET('/api/partner-gateway/v1/messages', { params, signal }))).data[0] ?? null;
    },
  });

/**
 * The timeline of one message as of a status: a new status is a new query. Otherwise the timeline could be read just before
 * the final status, and the message just after it, when nothing is polled any more.
 */
export const timelineQuery = ({ messageId: id, deliveryStatus }: Pick<Message, 'messageId' | 'deliveryStatus'>) =>
  queryOptions({
    queryKey: ['message', id, 'timeline', deliveryStatus],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/partner-gateway/v1/messages/{messageId}/timeline', {
          params: { path: { messageId: id } },
          signal,
        }),
      ),
  });

/** The contact with a number; null if there is none. */
export const contactQuery = (number: string) =>
  queryOptions({
    queryKey: ['contacts', 'of-number', number],
    queryFn: async ({ signal }) => {
      const params = { query: { search: number, limit: 1 } };
      const { data } = await ok(api.GET('/api/partner-gateway/v1/contacts', { params, signal }));
      return data.find(({ phoneNumber }) => phoneNumber === number) ?? null;
    },
  });

/** The name of a campaign. */
export const campaignNameQuery = (id: number) =>
  queryOptions({
    queryKey: ['campaign', id, 'name'],
    queryFn: async ({ signal }) =>
      (await ok(api.GET('/api/partner-gateway/v1/campaigns/{id}', { params: { path: { id } }, signal }))).name,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });

export const cancelMessage = (messageId: string) =>
  ok(api.DELETE('/api/partner-gateway/v1/messages/{messageId}', { params: { path: { messageId } } }));

export type Message = NonNullable<Awaited<ReturnType<NonNullable<ReturnType<typeof messageQuery>['queryFn']>>>>;
export type Timeline = Awaited<ReturnType<NonNullable<ReturnType<typeof timelineQuery>['queryFn']>>>;
export type TimelineEvent = Timeline['events'][number];

/** Returns true if the message has no final status yet, so that the page polls. */
export const isPending = (status: string): boolean => status === 'ACCEPTED' || status === 'UNKNOWN';
