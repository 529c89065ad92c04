import { bigint, int, rowsOf, text, timestamptz, uuid } from '../../platform/db/columns.ts';
import { timeOf } from '../../platform/db/id-time.ts';
import { constant, type Db, exec, many, maybeOne, type Sql, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';
import { OPEN_STATES, STATUS } from '../states.ts';

const UNKNOWN = constant(STATUS.UNKNOWN);
const ACCEPTED = constant(STATUS.ACCEPTED);

type Key = { readonly accountId: number; readonly messageId: string };

/** Deletes submits without a carrier id on which no parked receipt can report any more. Returns how many. */
export async function deleteOldNameless(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM nameless_submit WHERE valid_until < now() - ${days} * interval '1 day'`);
}

const UNKNOWN_COUNT = columns({ connectionId: as<number>('connection_id'), count: as<number>('count(*)') });

/** Counts the unknown outcomes of each connection. */
export const countUnknowns = (db: Db): Promise<RowOf<typeof UNKNOWN_COUNT>[]> =>
  many(db, sql`SELECT ${UNKNOWN_COUNT} FROM unknown_outcome GROUP BY connection_id`);

const UNKNOWN_OUTCOME = columns({
  messageId: as<string>('o.message_id'),
  accountId: as<number>('o.account_id'),
  account: as<string>('a.name'),
  connectionId: as<number>('o.connection_id'),
  /** Null when the connection was removed. */
  connection: as<string | null>('c.name'),
  /** The digits of the number, as the carrier knows it. */
  destination: as<string>('o.destination'),
  /** The sender as sent; once the message is deleted, as compared with receipts, in lower case. */
  sender: as<string>('coalesce(m.sender, o.sender)'),
  parts: as<number>('o.parts'),
  since: as<Date>('o.created_at'),
  reason: as<string>('o.reason'),
});
/** A message with an unknown outcome: its carrier may or may not have it. */
export type Unknown = RowOf<typeof UNKNOWN_OUTCOME>;

const SELECT_UNKNOWN = sql`SELECT ${UNKNOWN_OUTCOME}
  FROM unknown_outcome o JOIN account a ON a.id = o.account_id LEFT JOIN connection c ON c.id = o.connection_id
  LEFT JOIN message m ON m.account_id = o.account_id AND m.id = o.message_id`;

/** Lists the unknown outcomes, oldest first; only those of one account or connection when one is given. */
export async function listUnknowns(
  db: Db,
  { accountId, connectionId, limit }: { accountId: number | null; connectionId: number | null; limit: number },
): Promise<Unknown[]> {
  return many(
    db,
    sql`${SELECT_UNKNOWN}
        WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
          AND (${connectionId}::bigint IS NULL OR o.connection_id = ${connectionId})
        ORDER BY o.created_at, o.message_id LIMIT ${limit}`,
  );
}

/** Finds the unknown outcome of one message. */
export async function findUnknown(db: Db, { messageId }: { messageId: string }): Promise<Unknown | undefined> {
  return maybeOne(db, sql`${SELECT_UNKNOWN} WHERE o.message_id = ${messageId}`);
}

/** Address of a receipt, for matching without an id: the digits and the sender in lower case, both without a plus. */
export type Addressed = { readonly destination: string; readonly sender: string; readonly receivedAt: Date };

const addressedRows = (receipts: readonly Addressed[]) =>
  rowsOf(receipts, {
    n: int((_, i) => i),
    destination: text((r) => r.destination),
    sender: text((r) => r.sender),
    received_at: timestamptz((r) => r.receivedAt),
  });

/** True if the sender fits. With an empty sender the carrier chooses one, and some carriers omit it in receipts. */
const senderFits = (sender: Sql) => sql`(${sender} = '' OR r.sender = '' OR ${sender} = r.sender)`;

const CANDIDATE = columns({
  /** The place of the receipt in the request. */
  n: as<number>('r.n'),
  accountId: as<number>('o.account_id'),
  messageId: as<string>('o.message_id'),
  parts: as<number>('o.parts'),
  /** True if it is on the list of unknown outcomes; the others only make a receipt ambiguous. */
  open: as<boolean>('o.open'),
});
/** A submit without a carrier id on which a receipt may report. */
export type Candidate = RowOf<typeof CANDIDATE>;

/**
 * Lists the submits without a carrier id on which each of these receipts may report: those with the same connection,
 * number and sender, accepted before the receipt came (the clocks of program and database may differ by seconds) and
 * still within their time.
 */
export const listCandidates = (
  db: Db,
  { connectionId, receipts }: { connectionId: number; receipts: readonly Addressed[] },
): Promise<Candidate[]> =>
  many(
    db,
    sql`SELECT ${CANDIDATE}
        FROM ${addressedRows(receipts)} AS r
        JOIN (SELECT account_id, message_id, connection_id, destination, sender, valid_until, parts, true AS open
              FROM unknown_outcome
              UNION ALL
              SELECT account_id, message_id, connection_id, destination, sender, valid_until, 1, false
              FROM nameless_submit) AS o
          ON o.connection_id = ${connectionId} AND o.destination = r.destination AND ${senderFits(sql`o.sender`)}
        WHERE ${timeOf(sql`o.message_id`)} <= r.received_at + interval '5 seconds'
          AND r.received_at <= o.valid_until + interval '1 day'`,
  );

/**
 * Lists the places of the receipts that may report on a message that is being submitted to the connection: its response
 * with the carrier id is not recorded yet.
 */
export async function listInFlight(
  db: Db,
  { connectionId, receipts }: { connectionId: number; receipts: readonly Addressed[] },
): Promise<Set<number>> {
  const rows = await many<{ n: number }>(
    db,
    sql`SELECT DISTINCT r.n FROM dispatch_chunk c CROSS JOIN unnest(c.ids[:c.intent]) AS i (id)
        JOIN message m ON m.account_id = c.account_id AND m.id = i.id
        JOIN ${addressedRows(receipts)} AS r
          ON r.destination = ltrim(m.destination, '+') AND ${senderFits(sql`lower(ltrim(m.sender, '+'))`)}
        LEFT JOIN message_state s ON s.account_id = m.account_id AND s.id = m.id
        WHERE c.connection_id = ${connectionId} AND c.intent > 0
          AND (s.id IS NULL OR (s.status IN (${OPEN_STATES}) AND s.submitted_at IS NULL))`,
  );
  return new Set(rows.map((row) => row.n));
}

/** Returns true if the carrier accepted some parts of the message before it stopped responding. */
export async function hasKnownParts(db: Db, { accountId, messageId }: Key): Promise<boolean> {
  const [row] = await many(
    db,
    sql`SELECT FROM message_part WHERE account_id = ${accountId} AND message_id = ${messageId} LIMIT 1`,
  );
  return row !== undefined;
}

/**
 * Moves messages of unknown outcome to ACCEPTED with the carrier ids that receipts reported. Returns the ids of those
 * that moved; their states are locked until the transaction ends.
 */
export async function moveToAccepted(
  db: Db,
  rows: readonly (Key & { readonly carrierId: string })[],
): Promise<Set<string>> {
  const moved = await many<{ id: string }>(
    db,
    sql`UPDATE message_state s
        SET status = ${ACCEPTED}, carrier_id = u.carrier_id, updated_at = now(), error_text = NULL
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          carrier_id: text((r) => r.carrierId),
        })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.message_id AND s.status = ${UNKNOWN}
        RETURNING s.id`,
  );
  return new Set(moved.map((row) => row.id));
}

const WAITING_STATE = columns({
  attempts: as<number>('attempts'),
  possibleDuplicate: as<boolean>('possible_duplicate'),
  /** The bit of the channel. */
  channel: as<number>('channel'),
  campaignId: as<number | null>('campaign_id'),
});

/**
 * Moves a message of unknown outcome back to ACCEPTED, where it waits for its next attempt. Returns its state;
 * undefined when its outcome was not unknown.
 */
export const moveToWaiting = (
  db: Db,
  { accountId, messageId, reason }: Key & { reason: string },
): Promise<RowOf<typeof WAITING_STATE> | undefined> =>
  maybeOne(
    db,
    sql`UPDATE message_state SET status = ${ACCEPTED}, submitted_at = NULL, updated_at = now(), error_text = ${reason}
        WHERE account_id = ${accountId} AND id = ${messageId} AND status = ${UNKNOWN}
        RETURNING ${WAITING_STATE}`,
  );
