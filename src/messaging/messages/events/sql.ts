import { bigint, json, rowsOf, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';
import type { Channel } from '../../../platform/lib/channel.ts';

/**
 * What a message's own rows cannot hold:
 * - `attempt`: an outcome that is not the first try's plain acceptance;
 * - `receipt`: a receipt that moved nothing (intermediate, doubled, late, contradicting);
 * - `replaced`: a final state of ours that the carrier's own word replaced;
 * - `cancelled`, `settled`, `released`: what a client or the operator did;
 * - `fallback`: another message followed it on another channel, or it followed one;
 * - `held`: its network has it and holds it back for now;
 * - `revoke`: its network is asked to take it back (no outcome), or did not (REFUSED), or perhaps did (UNKNOWN).
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

/** What belongs to some kinds only; written as it is, shown in the timeline. */
export type EventDetails = {
  readonly attempt?: number;
  readonly outcome?: 'ACCEPTED' | 'REFUSED' | 'RETRY' | 'UNKNOWN';
  readonly status?: number;
  readonly code?: string;
  readonly carrierIds?: readonly string[];
  readonly part?: number;
  readonly possibleDuplicate?: boolean;
  /** The other message, and where it went. */
  readonly messageId?: string;
  readonly channel?: Channel;
};

export type NewEvent = {
  readonly accountId: number;
  readonly messageId: string;
  readonly kind: EventKind;
  readonly connectionId: number | null;
  /** The carrier's own words, or what a person said. */
  readonly text: string | null;
  readonly details?: EventDetails;
  /** When it was, if not in this transaction. */
  readonly at?: Date;
};

/** PostgreSQL's text may hold no NUL, and a carrier may put one anywhere. */
const storable = (words: string): string => words.replaceAll('\0', '\ufffd');

/** Appends to the history of messages, in the transaction that did it. */
export async function insertEvents(db: Db, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return;
  await exec(
    db,
    sql`INSERT INTO message_event (account_id, message_id, kind, connection_id, text, details, at)
        SELECT u.account_id, u.message_id, u.kind, u.connection_id, u.text, u.details, coalesce(u.at, now()) FROM ${rowsOf(
          events,
          {
            account_id: bigint((e) => e.accountId),
            message_id: uuid((e) => e.messageId),
            kind: text((e) => e.kind),
            connection_id: bigint((e) => e.connectionId),
            text: text((e) => (e.text === null ? null : storable(e.text))),
            details: json((e) =>
              JSON.stringify(e.details ?? {}, (_, value) => (typeof value === 'string' ? storable(value) : value)),
            ),
            at: timestamptz((e) => e.at ?? null),
          },
        )} AS u`,
  );
}

export type MessageEvent = {
  at: Date;
  kind: EventKind;
  connection: string | null;
  text: string | null;
  details: EventDetails;
};

/** The events of one message, in the order of writing. */
export async function listEvents(
  db: Db,
  { accountId, messageId }: { accountId: number; messageId: string },
): Promise<MessageEvent[]> {
  return many(
    db,
    sql`SELECT e.at, e.kind, c.name AS connection, e.text, e.details
        FROM message_event e LEFT JOIN connection c ON c.id = e.connection_id
        WHERE e.account_id = ${accountId} AND e.message_id = ${messageId} ORDER BY e.id`,
  );
}
