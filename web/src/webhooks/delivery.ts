import { api, ok } from '../api/client.ts';
import type { ListSearch } from '../ui/table/data-table.tsx';
import type { Tone } from '../ui/values/status-badge.tsx';
import { FORM_A } from './webhook.ts';

export const STATES = ['PENDING', 'DELIVERED', 'DEAD'] as const;
export type State = (typeof STATES)[number];
export const KINDS = ['DELIVERY', 'READ', 'INBOUND'] as const;
/** The time ranges of the log, in hours. */
export const PERIODS = ['1', '24', '168'] as const;

export const TONES: Readonly<Record<State, Tone>> = { PENDING: 'warning', DELIVERED: 'good', DEAD: 'bad' };

type Search = ListSearch & {
  readonly status: State | '';
  readonly kind: (typeof KINDS)[number] | '';
  readonly period: (typeof PERIODS)[number] | '';
  readonly message: string;
};

const HOUR_MS = 3_600_000;
const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** Returns true if the text is a complete message ID; an incomplete one is not used as a filter. */
export const isMessageId = (text: string): boolean => UUID.test(text.trim());

export function listDeliveries({ page, limit, status, kind, period, message }: Search, signal: AbortSignal) {
  const query = {
    page,
    limit,
    ...(status !== '' && { status }),
    ...(kind !== '' && { eventType: kind }),
    ...(period !== '' && { since: new Date(Date.now() - Number(period) * HOUR_MS).toISOString() }),
    ...(isMessageId(message) && { messageId: message.trim() }),
  };
  return ok(api.GET(`${FORM_A}/deliveries`, { params: { query }, signal }));
}
export type Delivery = Awaited<ReturnType<typeof listDeliveries>>['data'][number];

export const findDelivery = (id: string, signal: AbortSignal) =>
  ok(api.GET(`${FORM_A}/deliveries/{id}`, { params: { path: { id } }, signal }));
export type DeliveryDetail = Awaited<ReturnType<typeof findDelivery>>;
export type Attempt = DeliveryDetail['log'][number];

/** The status names of docs/message-states.md for the codes of the specification. */
const STATUS_NAMES: Readonly<Record<number, string>> = {
  0: 'UNKNOWN',
  1: 'ACCEPTED',
  2: 'REJECTED',
  3: 'DELIVERED',
  4: 'EXPIRED',
  5: 'DELETED',
  6: 'UNDELIVERABLE',
  9: 'ERROR',
  10: 'DISABLED',
  11: 'UNSUPPORTED',
  12: 'CONVERSATION_CLOSED',
};

export const statusNameOf = (code: number | null): string | null =>
  code === null ? null : (STATUS_NAMES[code] ?? 'UNKNOWN');
