import { bigint, int, rowsOf, text, timestamptz, uuid } from '../../platform/db/columns.ts';
import { type Db, exec, many, maybeOne, sql } from '../../platform/db/query.ts';

type Key = { readonly accountId: number; readonly messageId: string };

/** Forgets nameless submits of which no parked receipt can speak any more. */
export async function deleteOldNameless(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM nameless_submit WHERE valid_until < now() - ${days} * interval '1 day'`);
}

/** How many outcomes are unknown, per connection. */
export async function countUnknowns(db: Db): Promise<{ connectionId: number; count: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", count(*) AS count FROM unknown_outcome GROUP BY connection_id`,
  );
}

export type Unknown = {
  messageId: string;
  accountId: number;
  account: string;
  connectionId: number;
  /** Null when the connection was removed. */
  connection: string | null;
  /** Digits, as the carrier knows it. */
  destination: string;
  sender: string;
  parts: number;
  since: Date;
  reason: string;
};

const UNKNOWN = sql`o.message_id AS "messageId", o.account_id AS "accountId", a.name AS account,
  o.connection_id AS "connectionId", c.name AS connection, o.destination, o.sender, o.parts, o.created_at AS since,
  o.reason
  FROM unknown_outcome o JOIN account a ON a.id = o.account_id LEFT JOIN connection c ON c.id = o.connection_id`;

/** The open unknowns, the oldest first; of one account or connection where one is named. */
export async function listUnknowns(
  db: Db,
  { accountId, connectionId, limit }: { accountId: number | null; connectionId: number | null; limit: number },
): Promise<Unknown[]> {
  return many(
    db,
    sql`SELECT ${UNKNOWN}
        WHERE (${accountId}::bigint IS NULL OR o.account_id = ${accountId})
          AND (${connectionId}::bigint IS NULL OR o.connection_id = ${connectionId})
        ORDER BY o.created_at, o.message_id LIMIT ${limit}`,
  );
}

export async function findUnknown(db: Db, { messageId }: { messageId: string }): Promise<Unknown | undefined> {
  return maybeOne(db, sql`SELECT ${UNKNOWN} WHERE o.message_id = ${messageId}`);
}

/** What a receipt says of its message beside an id: digits and a sender in lower case, both without a plus. */
export type Addressed = { readonly destination: string; readonly sender: string; readonly receivedAt: Date };

const addressedRows = (receipts: readonly Addressed[]) =>
  rowsOf(receipts, {
    n: int((_, i) => i),
    destination: text((r) => r.destination),
    sender: text((r) => r.sender),
    received_at: timestamptz((r) => r.receivedAt),
  });

/** An empty sender leaves it to the carrier, so any may stand in the receipt; and some carriers put none there. */
const senderFits = (sender: ReturnType<typeof sql>) => sql`(${sender} = '' OR r.sender = '' OR ${sender} = r.sender)`;

export type Candidate = Key & {
  /** The place of the receipt among those asked about. */
  n: number;
  parts: number;
  /** On the list of unknowns; the others only stand in the way. */
  open: boolean;
};

/**
 * The submits without a carrier id that each of these receipts may speak of: same connection, number and sender,
 * accepted before the receipt came (the clocks of program and database may differ by seconds), and in its time.
 */
export async function listCandidates(
  db: Db,
  { connectionId, receipts }: { connectionId: number; receipts: readonly Addressed[] },
): Promise<Candidate[]> {
  return many(
    db,
    sql`SELECT r.n, o.account_id AS "accountId", o.message_id AS "messageId", o.parts, o.open
        FROM ${addressedRows(receipts)} AS r
        JOIN (SELECT account_id, message_id, connection_id, destination, sender, valid_until, parts, true AS open
              FROM unknown_outcome
              UNION ALL
              SELECT account_id, message_id, connection_id, destination, sender, valid_until, 1, false
              FROM nameless_submit) AS o
          ON o.connection_id = ${connectionId} AND o.destination = r.destination AND ${senderFits(sql`o.sender`)}
        WHERE uuid_extract_timestamp(o.message_id) <= r.received_at + interval '5 seconds'
          AND r.received_at <= o.valid_until + interval '1 day'`,
  );
}

/**
 * Which of these receipts, by their places, may speak of a message that the connection is being given at this moment:
 * its answer, with the id, is not recorded yet.
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
          AND (s.id IS NULL OR (s.status IN (0, 1) AND s.submitted_at IS NULL))`,
  );
  return new Set(rows.map((row) => row.n));
}

/** Whether the carrier took some parts of the message before it fell silent. */
export async function hasKnownParts(db: Db, { accountId, messageId }: Key): Promise<boolean> {
  const [row] = await many(
    db,
    sql`SELECT FROM message_part WHERE account_id = ${accountId} AND message_id = ${messageId} LIMIT 1`,
  );
  return row !== undefined;
}

/**
 * Gives unknown messages the carrier id that a receipt told: from now on they are accepted ones. Answers those for which
 * that was news; their states are locked until the transaction ends.
 */
export async function moveToAccepted(
  db: Db,
  rows: readonly (Key & { readonly carrierId: string })[],
): Promise<Set<string>> {
  const moved = await many<{ id: string }>(
    db,
    sql`UPDATE message_state s SET status = 1, carrier_id = u.carrier_id, updated_at = now(), error_text = NULL
        FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          carrier_id: text((r) => r.carrierId),
        })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.message_id AND s.status = 0
        RETURNING s.id`,
  );
  return new Set(moved.map((row) => row.id));
}

/** Makes an unknown message one that waits for its next attempt. Undefined when it has an end. */
export async function moveToWaiting(
  db: Db,
  { accountId, messageId, reason }: Key & { reason: string },
): Promise<{ attempts: number; possibleDuplicate: boolean; channel: number; campaignId: number | null } | undefined> {
  return maybeOne(
    db,
    sql`UPDATE message_state SET status = 1, submitted_at = NULL, updated_at = now(), error_text = ${reason}
        WHERE account_id = ${accountId} AND id = ${messageId} AND status = 0
        RETURNING attempts, possible_duplicate AS "possibleDuplicate", channel, campaign_id AS "campaignId"`,
  );
}
