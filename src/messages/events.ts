import type { Channel } from '../core/channels.ts';
import { bigint, input, insertRows, json, rowsOf, text, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, plainArray, type RowOf, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import type { Result } from '../dispatch/commit.ts';
import { ACCEPTED_KIND, type NewWebhookEvent } from '../webhooks/events.ts';
import { publishEvents } from '../webhooks/outbox.ts';
import type { NewMessage } from './new-messages.ts';
import { type MessageRead, messagesByKey, type StateMove } from './store.ts';

/**
 * Publishes the outcomes that change something for the client: a carrier accepted or rejected the message. An unknown
 * outcome and another attempt change nothing. The statement is sent before this returns, as a `burst` needs it.
 */
export const publishOutcomes = (tx: Db, news: readonly Result[]): Promise<void> =>
  publishEvents(tx, news.filter(isChange).map(toEvent));

const isChange = ({ outcome }: Result): boolean => outcome.kind === 'accepted' || outcome.kind === 'refused';

const toEvent = ({ accountId, messageId, outcome }: Result): NewWebhookEvent => ({
  accountId,
  kind: 'DELIVERY',
  messageId,
  status: outcome.kind === 'refused' ? STATUS[outcome.status] : STATUS.ACCEPTED,
  error: outcome.kind === 'refused' ? outcome.text : null,
});

/**
 * Publishes that the gateway has accepted messages, of accounts that take such events. The statement is sent before this
 * returns, as a `burst` needs it.
 */
export const publishAccepted = (tx: Db, messages: readonly NewMessage[]): Promise<void> =>
  publishEvents(
    tx,
    messages.map(({ accountId, id }) => ({ accountId, kind: ACCEPTED_KIND, messageId: id })),
  );

/** Publishes what a carrier would have told by taking messages (`message.sent`), as simulated ones need it. */
export const publishSent = (tx: Db, messages: readonly NewMessage[]): Promise<void> =>
  publishEvents(
    tx,
    messages.map(({ accountId, id }) => ({ accountId, kind: 'DELIVERY', messageId: id, status: STATUS.ACCEPTED })),
  );

/**
 * Publishes the final states of messages, and after them that messages were read.
 *
 * @param stayed ids of the messages that had a final state before: a repeated receipt is not published
 */
export const publishFinalStates = (
  tx: Db,
  moves: readonly StateMove[],
  { stayed, read }: { readonly stayed: ReadonlySet<string>; readonly read: readonly MessageRead[] },
): Promise<void> =>
  publishEvents(tx, [
    ...(stayed.size === 0 ? moves : moves.filter(({ id }) => !stayed.has(id))).map(toDelivery),
    ...read.map(toRead),
  ]);

const toDelivery = ({ accountId, id, status, doneAt, errorText }: StateMove): NewWebhookEvent => ({
  accountId,
  kind: 'DELIVERY',
  messageId: id,
  status,
  at: doneAt,
  error: errorText,
});

const toRead = ({ accountId, id, readAt }: MessageRead): NewWebhookEvent => {
  return { accountId, kind: 'READ', messageId: id, at: readAt };
};

export type CampaignEnd = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageId: string;
  /** The code of its final state; UNKNOWN when we gave up a message that a carrier may have: nothing follows then. */
  readonly status: number;
};

/**
 * Records ends of messages for combined campaigns, in the transaction of these ends: the choice of the next channel
 * reads committed ends only. Ends of other campaigns are dropped, since nothing follows them.
 */
export async function recordCampaignEnds(tx: Db, ends: readonly CampaignEnds[]): Promise<void> {
  if (ends.length === 0) return;
  const oneOfEach = [...new Map(ends.map((end) => [end.campaignId, end])).values()];
  const combined = await listCombined(
    tx,
    oneOfEach.map(({ accountId, messageIds }) => ({ accountId, id: messageIds[0] ?? '' })),
  );
  const followed = ends.filter(({ campaignId }) => combined.has(campaignId));
  if (followed.length > 0) await insertCampaignEnds(tx, followed);
}

/**
 * `recordCampaignEnds` for messages that are all known to be of combined campaigns. The statement is sent before this
 * returns, as a `burst` needs it.
 */
export async function recordCombinedEnds(tx: Db, ends: readonly CampaignEnd[]): Promise<void> {
  if (ends.length === 0) return;
  const rows = Map.groupBy(ends, ({ campaignId }) => campaignId);
  await insertCampaignEnds(
    tx,
    [...rows].map(([campaignId, own]) => ({
      campaignId,
      accountId: own[0]?.accountId ?? 0,
      messageIds: own.map(({ messageId }) => messageId),
      statuses: own.map(({ status }) => status),
    })),
  );
}

/** NOTIFY channel that wakes workers for a campaign; the payload is its id, or empty for any. */
export const CAMPAIGNS_CHANNEL = 'heliograph_campaigns';

/** Messages of one campaign that reached their end, each with the code of its final state. */
export type CampaignEnds = {
  readonly accountId: number;
  readonly campaignId: number;
  readonly messageIds: readonly string[];
  readonly statuses: readonly number[];
};

/**
 * Finds which campaigns are combined, each by one of its messages: all messages of a combined campaign keep their
 * reserve, because another channel may follow.
 */
async function listCombined(
  db: Db,
  keys: readonly { readonly accountId: number; readonly id: string }[],
): Promise<Set<number>> {
  const rows = await many<{ campaignId: number }>(
    db,
    sql`SELECT m.campaign_id AS "campaignId" FROM ${messagesByKey(keys)} WHERE m.keeps_reserve`,
  );
  return new Set(rows.map(({ campaignId }) => campaignId));
}

/** Records ends of messages for their campaigns; workers are woken when the transaction commits. */
async function insertCampaignEnds(db: Db, rows: readonly CampaignEnds[]): Promise<void> {
  await exec(
    db,
    sql`WITH written AS (
          ${insertRows(
            'campaign_outcome',
            rows.map((row) => ({
              ...row,
              messageIds: plainArray(row.messageIds),
              statuses: plainArray(row.statuses),
            })),
            { accountId: bigint, campaignId: bigint, messageIds: input(text), statuses: input(text) },
            { message_ids: sql`u.message_ids::uuid[]`, statuses: sql`u.statuses::smallint[]` },
          )}
          RETURNING campaign_id)
        SELECT pg_notify(${CAMPAIGNS_CHANNEL}, campaign_id::text) FROM written`,
  );
}

/**
 * Takes the oldest ends of a campaign that are due, at most `limit` rows; they are gone when the transaction commits.
 */
export async function deleteCampaignEnds(
  db: Db,
  { accountId, campaignId }: { accountId: number; campaignId: number },
  limit: number,
): Promise<{ messageIds: string[]; statuses: number[] }[]> {
  const rows = await many<{ ids: string; statuses: string }>(
    db,
    sql`DELETE FROM campaign_outcome WHERE id IN (
          SELECT id FROM campaign_outcome WHERE campaign_id = ${campaignId} AND account_id = ${accountId} AND due_at <= now()
          ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING array_to_string(message_ids, ',') AS ids, array_to_string(statuses, ',') AS statuses`,
  );
  return rows.map(({ ids, statuses }) => ({ messageIds: ids.split(','), statuses: statuses.split(',').map(Number) }));
}

const CAMPAIGN_WITH_ENDS = columns({ accountId: as<number>('account_id'), campaignId: as<number>('campaign_id') });

/** Lists the campaigns that have ends which no worker has processed. */
export const listCampaignsWithEnds = (db: Db): Promise<RowOf<typeof CAMPAIGN_WITH_ENDS>[]> =>
  many(db, sql`SELECT DISTINCT ${CAMPAIGN_WITH_ENDS} FROM campaign_outcome ORDER BY 2`);

/**
 * Kinds of events in a message's history that its own rows cannot hold:
 * - `attempt`: an outcome other than the plain acceptance of the first attempt;
 * - `receipt`: a receipt that moved nothing (intermediate, repeated, late, contradictory);
 * - `replaced`: a final state of ours that a report of the carrier replaced;
 * - `cancelled`, `settled`, `released`: an action of a client or the operator;
 * - `fallback`: another message followed on another channel, or this one followed another;
 * - `held`: the network has the message and holds it back for now;
 * - `revoke`: the network was asked to revoke the message (no outcome), did not (REFUSED), or perhaps did (UNKNOWN).
 */
export type EventKind =
  | 'attempt'
  | 'receipt'
  | 'replaced'
  | 'cancelled'
  | 'settled'
  | 'released'
  | 'fallback'
  | 'held'
  | 'revoke';

/** Details that only some kinds of events have, stored unchanged and shown in the timeline. */
export type EventDetails = {
  readonly attempt?: number;
  readonly outcome?: 'ACCEPTED' | 'REFUSED' | 'RETRY' | 'UNKNOWN';
  readonly status?: number;
  readonly code?: string;
  readonly carrierIds?: readonly string[];
  readonly part?: number;
  readonly possibleDuplicate?: boolean;
  /** The other message of a `fallback`. */
  readonly messageId?: string;
  /** The channel of the other message. */
  readonly channel?: Channel;
};

export type NewEvent = {
  readonly accountId: number;
  readonly messageId: string;
  readonly kind: EventKind;
  readonly connectionId: number | null;
  /** The carrier's own text, or a sentence of ours. */
  readonly text: string | null;
  readonly details?: EventDetails;
  /** Time of the event, unless in this transaction. */
  readonly at?: Date;
};

/** Replaces NULs: PostgreSQL's text may hold none, and a carrier may send one anywhere. */
const storable = (value: string): string => value.replaceAll('\0', '\ufffd');

/** Appends to the history of messages. Call it in the transaction of the recorded change. */
export async function insertEvents(db: Db, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await exec(
    db,
    insertRows(
      'message_event',
      events,
      {
        accountId: bigint,
        messageId: uuid,
        kind: text,
        connectionId: bigint,
        text: text((e) => (e.text === null ? null : storable(e.text))),
        details: json((e) =>
          JSON.stringify(e.details ?? {}, (_, value) => (typeof value === 'string' ? storable(value) : value)),
        ),
        at: input(timestamptz),
      },
      { at: sql`coalesce(u.at, now())` },
    ),
  );
}

const MESSAGE_EVENT = columns({
  at: as<Date>('e.at'),
  kind: as<EventKind>('e.kind'),
  connection: as<string | null>('c.name'),
  text: as<string | null>('e.text'),
  details: as<EventDetails>('e.details'),
});
/** An event as the timeline shows it. */
export type MessageEvent = RowOf<typeof MESSAGE_EVENT>;

/** Lists the events of one message in the order in which they were written. */
export const listEvents = (
  db: Db,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<MessageEvent[]> =>
  many(
    db,
    sql`SELECT ${MESSAGE_EVENT}
        FROM message_event e LEFT JOIN connection c ON c.id = e.connection_id
        WHERE e.account_id = ${accountId} AND e.message_id = ${messageId} AND e.kind <> 'trace' ORDER BY e.id`,
  );

/** The trace of its caller that a message continues: the caller's `traceparent` and `tracestate`. */
export type NewTrace = {
  readonly accountId: number;
  readonly messageId: string;
  readonly traceparent: string;
  readonly state: string | null;
};

/** Stores the traces that messages continue, as a separate kind of event, which no timeline shows. */
export async function insertTraces(db: Db, traces: readonly NewTrace[]): Promise<void> {
  if (traces.length === 0) return;
  await exec(
    db,
    sql`INSERT INTO message_event (account_id, message_id, kind, text, details)
        SELECT u.account_id, u.message_id, 'trace', u.traceparent, json_build_object('state', u.state)
        FROM ${rowsOf(traces, {
          account_id: bigint((t) => t.accountId),
          message_id: uuid((t) => t.messageId),
          traceparent: text((t) => t.traceparent),
          state: text((t) => t.state),
        })} AS u`,
  );
}

const STORED_TRACE = columns({
  messageId: as<string>('e.message_id'),
  traceparent: as<string>('e.text'),
  state: as<string | null>("e.details->>'state'"),
});

type TraceKeys = {
  readonly keys: readonly Pick<NewTrace, 'accountId' | 'messageId'>[];
  readonly firstId: string;
  readonly lastId: string;
};

/** Lists the traces that these messages continue; most messages continue none. */
export const listTraces = (db: Db, { keys, firstId, lastId }: TraceKeys): Promise<RowOf<typeof STORED_TRACE>[]> =>
  many(
    db,
    sql`SELECT ${STORED_TRACE}
        FROM ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          message_id: uuid((k) => k.messageId),
        })} AS u
        JOIN message_event e ON e.account_id = u.account_id AND e.message_id = u.message_id AND e.kind = 'trace'
        WHERE e.message_id BETWEEN ${firstId} AND ${lastId}`,
  );
