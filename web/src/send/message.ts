import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import { type PreviewBody, rcsOf, smsOf, whatsappOf } from './bodies.ts';
import type { Channel, Draft } from './draft.ts';

const PG = '/api/partner-gateway/v1';
const MS = '/api/message-server';
const POLL_MS = 1_500;

/** The preview of a message: content, cost and problems so far. Nothing is sent. */
export const previewQuery = (body: PreviewBody) =>
  queryOptions({
    queryKey: ['message-preview', body],
    queryFn: ({ signal }) => ok(api.POST(`${PG}/messages/preview`, { body, signal })),
  });

export type Preview = Awaited<ReturnType<NonNullable<ReturnType<typeof previewQuery>['queryFn']>>>;

/** The result of sending: the message ID, or the reasons for the rejection. */
export type Outcome =
  | { readonly accepted: true; readonly messageId: string }
  | { readonly accepted: false; readonly reasons: readonly string[] };

/** Sends the message. Rejects with an ApiError of status 400 that names the invalid fields. */
export async function send(channel: Channel, draft: Draft): Promise<Outcome> {
  if (channel === 'WHATSAPP') return outcomeOf(await ok(api.POST(`${MS}/whatsapp/send`, { body: whatsappOf(draft) })));
  if (channel === 'RCS') return outcomeOf(await ok(api.POST(`${MS}/rcs/send`, { body: rcsOf(draft) })));
  return outcomeOf(await ok(api.POST(`${MS}/sms/send`, { body: smsOf(draft) })));
}

type Refusable = { readonly reasons: readonly string[] };
type Answer = {
  readonly messageId: string | null;
  readonly results: readonly Refusable[] | Readonly<Record<string, Refusable>>;
};

function outcomeOf({ messageId, results }: Answer): Outcome {
  if (messageId !== null) return { accepted: true, messageId };
  return { accepted: false, reasons: Object.values(results).flatMap(({ reasons }: Refusable) => reasons) };
}

/** Returns true if a message has no final status yet. */
const isPending = (status: string): boolean => status === 'ACCEPTED' || status === 'UNKNOWN';

/** Returns true if a message has ended without being delivered. */
export const hasFailed = (status: string): boolean =>
  !isPending(status) && status !== 'DELIVERED' && status !== 'DELETED';

/** The status of a message, polled until it is final. */
export const statusQuery = (messageId: string) =>
  queryOptions({
    queryKey: ['message', messageId, 'status'],
    queryFn: async ({ signal }) => {
      const params = { query: { q: messageId, limit: 1 } };
      return (await ok(api.GET(`${PG}/messages`, { params, signal }))).data[0] ?? null;
    },
    refetchInterval: ({ state: { data } }) => (data && !isPending(data.deliveryStatus) ? false : POLL_MS),
  });
