import { bigint, input, insertRows, json, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

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

/** An event in the history of a message. */
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
