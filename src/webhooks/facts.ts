import type { LRUCache } from 'lru-cache';
import type { InboundContent } from '../channels/inbound-content.ts';
import type { Channel } from '../core/channels.ts';
import { as, columns, type Db, many, type RowOf, sql } from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import {
  EVENTS,
  listSentFacts,
  type MessageKey,
  rowsOfMessages,
  type SentFacts,
  type WebhookEventKind,
} from './events.ts';
import type { Callback, ClientData } from './urls.ts';

const MESSAGE_FACTS = columns({
  messageId: as<string>('m.id'),
  clientId: as<string | null>('m.client_id'),
  channel: as<Channel>('m.channel'),
  sender: as<string>('m.sender'),
  destination: as<string>('m.destination'),
  parts: as<number>('m.parts'),
  priceMicros: as<number>('m.price_micros'),
  priceCategory: as<string | null>('m.price_category'),
  billable: as<boolean | null>(
    '(SELECT b.billable FROM message_billing b WHERE b.account_id = m.account_id AND b.message_id = m.id)',
  ),
  campaignId: as<number | null>('m.campaign_id'),
  simulation: as<boolean>('m.simulation'),
  status: as<number | null>('s.status'),
  errorCode: as<string | null>('s.error_code'),
  attempts: as<number | null>('s.attempts'),
  connection: as<string | null>('(SELECT c.name FROM connection c WHERE c.id = s.connection_id)'),
  clientData: as<ClientData | null>('m.client_data'),
  callback: as<Callback | null>("m.client_data->'callback'"),
});
export type MessageFacts = RowOf<typeof MESSAGE_FACTS>;

/** Lists the facts of sent messages; the limits make the planner look up each key (`listSentFacts`). */
async function listMessageFacts(db: Db, keys: readonly MessageKey[]): Promise<MessageFacts[]> {
  const [firstId, lastId] = boundsOf(keys.map((key) => key.messageId));
  return many(
    db,
    sql`SELECT ${MESSAGE_FACTS}
        FROM ${rowsOfMessages(keys)} AS u
        CROSS JOIN LATERAL (
          SELECT * FROM message
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} AND want_receipt LIMIT 1) AS m
        LEFT JOIN LATERAL (
          SELECT status, error_code, attempts, connection_id FROM message_state
          WHERE account_id = u.account_id AND id = u.id AND id BETWEEN ${firstId} AND ${lastId} LIMIT 1) AS s ON true`,
  );
}

const INBOUND_FACTS = columns({
  messageId: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  messageType: as<string>('m.message_type'),
  source: as<string>('m.source'),
  destination: as<string>('m.destination'),
  ownNumber: as<string | null>("m.details->>'ownNumber'"),
  body: as<string>('m.body'),
  profileName: as<string | null>("m.details->>'profileName'"),
  media: as<{ readonly mimeType: string | null; readonly fileName: string | null } | null>(
    `CASE WHEN m.details->'media' <> 'null' THEN
       jsonb_build_object('mimeType', m.details->'media'->'mimeType', 'fileName', m.details->'media'->'fileName') END`,
  ),
  content: as<InboundContent | null>('m.content'),
  isOptOut: as<boolean | null>("t.consent = 'OPTED_OUT'"),
  chatId: as<string | null>('t.chat_id'),
  contactId: as<number | null>('o.id'),
});
export type InboundFacts = RowOf<typeof INBOUND_FACTS>;

/** Lists the facts of inbound messages, with their place in the inbox. */
const listInboundFacts = (db: Db, keys: readonly MessageKey[]): Promise<InboundFacts[]> =>
  many(
    db,
    sql`SELECT ${INBOUND_FACTS}
        FROM ${rowsOfMessages(keys)} AS u
        JOIN inbound_message m ON m.account_id = u.account_id AND m.id = u.id
        LEFT JOIN inbox_message t ON t.account_id = u.account_id AND t.id = u.id
        LEFT JOIN conversation c ON c.account_id = t.account_id AND c.chat_id = t.chat_id
        LEFT JOIN contact o ON o.account_id = c.account_id AND o.person = c.person`,
  );

/** Facts of messages for format v1, by message id. */
export type KnownFacts = LRUCache<string, SentFacts>;

type Loadable = MessageKey & {
  readonly kind: string;
  /** 0: the webhook of the specification, in format v1. */
  readonly endpoint: number;
  /** The data of an event that is not about a message. */
  readonly data: object | null;
};
type Load = (db: Db, keys: readonly MessageKey[]) => Promise<readonly { readonly messageId: string }[]>;

function loaderOf({ kind, endpoint }: Loadable): Load | null {
  if (endpoint !== 0) return kind === 'INBOUND' ? listInboundFacts : listMessageFacts;
  return kind in EVENTS ? EVENTS[kind as WebhookEventKind].load : null;
}

/**
 * Adds the facts for their bodies to events; null: the message was deleted, or its client requested no events.
 *
 * @param known facts that need no look-up; those of submitted messages are added, which do not change any more
 */
export async function withFacts<E extends Loadable>(
  db: Db,
  events: readonly E[],
  known?: KnownFacts,
): Promise<(E & { readonly facts: object | null })[]> {
  const found = new Map<Load | null, Map<string, object>>();
  const remembered = new Map<string, SentFacts>();
  const missing = events.filter(({ data, endpoint, messageId }) => {
    if (data !== null) return false;
    const facts = endpoint === 0 ? known?.get(messageId) : undefined;
    if (facts) remembered.set(messageId, facts);
    return !facts;
  });
  for (const [load, own] of Map.groupBy(missing, loaderOf)) {
    const facts = load ? await load(db, own) : [];
    found.set(load, new Map(facts.map((one) => [one.messageId, one])));
    for (const one of facts)
      if (load === listSentFacts && 'submittedAt' in one && one.submittedAt)
        known?.set(one.messageId, one as SentFacts);
  }
  return events.map((event) => {
    const loaded = found.get(loaderOf(event))?.get(event.messageId);
    const before = event.endpoint === 0 ? remembered.get(event.messageId) : undefined;
    return { ...event, facts: event.data ?? loaded ?? before ?? null };
  });
}
