import { bigint, boolean, bytea, int, rowsOf, smallint, text, timestamptz, uuid } from '../db/columns.ts';
import { type Db, exec, many, onePlan, sql, tuples } from '../db/query.ts';
import type { Channel } from '../lib/channel.ts';

export type NewMessage = {
  readonly accountId: number;
  readonly id: string;
  readonly clientId: string | null;
  readonly channel: Channel;
  readonly source: 'API' | 'CAMPAIGN' | 'INBOX';
  readonly simulation: boolean;
  readonly connectionId: number | null;
  readonly sender: string;
  readonly destination: string;
  readonly body: string;
  readonly udh: Uint8Array | null;
  readonly binaryBody: Uint8Array | null;
  readonly parts: number;
  readonly wantReceipt: boolean;
  readonly validUntil: Date | null;
  /** Not before; null went into the queue at once. */
  readonly scheduledAt: Date | null;
  readonly priceMicros: number;
  readonly refundUndelivered: boolean;
  /** Who asked for it: a key, or a person with a password. */
  readonly apiKeyId: number | null;
  readonly userId: number | null;
};

/** Stores messages of any accounts in one statement: 1,000 rows a statement ran at 91,000 rows/s. */
export async function insertMessages(db: Db, rows: readonly NewMessage[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO message (account_id, id, client_id, channel, source, simulation, connection_id, sender, destination,
                             body, udh, binary_body, parts, want_receipt, valid_until, price_micros,
                             refund_undelivered, api_key_id, user_id, scheduled_at)
        SELECT * FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          client_id: text((r) => r.clientId),
          channel: text((r) => r.channel),
          source: text((r) => r.source),
          simulation: boolean((r) => r.simulation),
          connection_id: bigint((r) => r.connectionId),
          sender: text((r) => r.sender),
          destination: text((r) => r.destination),
          body: text((r) => r.body),
          udh: bytea((r) => r.udh),
          binary_body: bytea((r) => r.binaryBody),
          parts: smallint((r) => r.parts),
          want_receipt: boolean((r) => r.wantReceipt),
          valid_until: timestamptz((r) => r.validUntil),
          price_micros: bigint((r) => r.priceMicros),
          refund_undelivered: boolean((r) => r.refundUndelivered),
          api_key_id: bigint((r) => r.apiKeyId),
          user_id: bigint((r) => r.userId),
          scheduled_at: timestamptz((r) => r.scheduledAt),
        })} AS u`),
  );
}

export type ClientIdClaim = {
  readonly accountId: number;
  readonly clientId: string;
  readonly messageId: string;
  readonly contentHash: Uint8Array;
};

/**
 * Takes client ids for 24 hours. Answers the message ids whose client id was free (or older than that); for the
 * others, `findClientIds` tells who holds it. No client id may occur twice in one call.
 */
export async function insertClientIds(db: Db, claims: readonly ClientIdClaim[]): Promise<Set<string>> {
  const rows = await many<{ messageId: string }>(
    db,
    sql`INSERT INTO client_message_id AS c (account_id, client_id, message_id, content_hash, created_at)
        SELECT u.account_id, u.client_id, u.message_id, u.content_hash, now() FROM ${rowsOf(claims, {
          account_id: bigint((c) => c.accountId),
          client_id: text((c) => c.clientId),
          message_id: uuid((c) => c.messageId),
          content_hash: bytea((c) => c.contentHash),
        })} AS u
        ORDER BY u.account_id, u.client_id
        ON CONFLICT (account_id, client_id) DO UPDATE
          SET message_id = excluded.message_id, content_hash = excluded.content_hash, created_at = excluded.created_at
          WHERE c.created_at < now() - interval '24 hours'
        RETURNING c.message_id AS "messageId"`,
  );
  return new Set(rows.map((row) => row.messageId));
}

/** Who holds these client ids: those used within 24 hours. */
export async function listClientIds(
  db: Db,
  keys: readonly { accountId: number; clientId: string }[],
): Promise<{ accountId: number; clientId: string; messageId: string; contentHash: Buffer; parts: number }[]> {
  return many(
    db,
    sql`SELECT c.account_id AS "accountId", c.client_id AS "clientId", c.message_id AS "messageId",
               c.content_hash AS "contentHash", m.parts
        FROM client_message_id c
        JOIN message m ON m.account_id = c.account_id AND m.id = c.message_id
        JOIN ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          client_id: text((k) => k.clientId),
        })} AS u ON c.account_id = u.account_id AND c.client_id = u.client_id
        WHERE c.created_at >= now() - interval '24 hours'`,
  );
}

export type QueuedMessage = [
  /** Its place among those that were asked for. */
  n: number,
  sender: string,
  destination: string,
  body: string,
  udh: Buffer | null,
  binaryBody: Buffer | null,
  parts: number,
  wantReceipt: boolean,
  validUntil: Date | null,
  scheduledAt: Date | null,
  priceMicros: number,
  refundUndelivered: boolean,
];

/** What a carrier needs of these messages. All ids lie in [firstId, lastId], which keeps the other days' partitions out. */
export async function listQueuedMessages(
  db: Db,
  look: { messages: readonly { accountId: number; id: string }[]; firstId: string; lastId: string },
): Promise<QueuedMessage[]> {
  return tuples(
    db,
    sql`SELECT u.n, m.sender, m.destination, m.body, m.udh, m.binary_body, m.parts, m.want_receipt, m.valid_until,
               m.scheduled_at, m.price_micros, m.refund_undelivered
        FROM ${rowsOf(look.messages, {
          account_id: bigint((m) => m.accountId),
          id: uuid((m) => m.id),
          n: int((_, i) => i),
        })} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id
        WHERE m.id BETWEEN ${look.firstId} AND ${look.lastId}`,
  );
}

export type NewState = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly attempts: number;
  readonly connectionId: number | null;
  readonly carrierId: string | null;
  readonly submitted: boolean;
  readonly errorCode: string | null;
  readonly errorText: string | null;
  /** It is sent again though the carrier may have it. */
  readonly possibleDuplicate: boolean;
  /** The price stays frozen: what becomes of it is still open. */
  readonly creditHeld: boolean;
};

/** The columns of new states, for both statements below. */
const stateColumns = (rows: readonly NewState[]) =>
  sql`${rowsOf(rows, {
    account_id: bigint((r) => r.accountId),
    id: uuid((r) => r.id),
    status: smallint((r) => r.status),
    attempts: smallint((r) => r.attempts),
    connection_id: bigint((r) => r.connectionId),
    carrier_id: text((r) => r.carrierId),
    submitted: boolean((r) => r.submitted),
    error_code: text((r) => r.errorCode),
    error_text: text((r) => r.errorText),
    credit_held: boolean((r) => r.creditHeld),
    possible_duplicate: boolean((r) => r.possibleDuplicate),
  })} AS u`;

/** Records first outcomes. Fails (23505) when one of the messages has a state already: `moveOutcomes` sorts that out. */
export async function insertStates(db: Db, rows: readonly NewState[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, updated_at,
                                   error_code, error_text, credit_held, possible_duplicate)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text, u.credit_held,
               u.possible_duplicate
        FROM ${stateColumns(rows)}`),
  );
}

/**
 * Records outcomes of messages that may have a state. Answers the ids that were news: an attempt that is already
 * recorded stays as it is, except that a known outcome replaces an unknown one of the same attempt.
 */
export async function moveOutcomes(db: Db, rows: readonly NewState[]): Promise<Set<string>> {
  const changed = await many<{ id: string }>(
    db,
    sql`INSERT INTO message_state AS s (account_id, id, status, attempts, connection_id, carrier_id, submitted_at,
                                        updated_at, error_code, error_text, credit_held, possible_duplicate)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text, u.credit_held,
               u.possible_duplicate
        FROM ${stateColumns(rows)} ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE
          SET status = excluded.status, attempts = excluded.attempts, connection_id = excluded.connection_id,
              carrier_id = excluded.carrier_id, submitted_at = excluded.submitted_at, updated_at = excluded.updated_at,
              error_code = excluded.error_code, error_text = excluded.error_text, credit_held = excluded.credit_held,
              possible_duplicate = s.possible_duplicate OR excluded.possible_duplicate
          WHERE s.status IN (0, 1) AND (s.attempts < excluded.attempts
             OR (s.attempts = excluded.attempts AND s.status = 0 AND excluded.status <> 0))
        RETURNING s.id`,
  );
  return new Set(changed.map((row) => row.id));
}

/** The error code of messages that our own timer expired. */
export const EXPIRED_BY_US = 'VALIDITY_ENDED';

export type StateMove = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly doneAt: Date | null;
  readonly errorCode: string | null;
  readonly errorText: string | null;
  /** The words of the receipt that says so. */
  readonly receiptText?: string | null;
};

/** A move that needs a second look: it did not happen, it ends a frozen price, or it replaces a final state of ours. */
export type Moved = {
  /** Its place among the moves. */
  n: number;
  /** False when the message has an end already. */
  moved: boolean;
  /** Its price was frozen until now. */
  held: boolean;
  /** Since when the state that it leaves was a final one; null: it was not. */
  expiredAt: Date | null;
};

/**
 * Moves messages to the state that a receipt reports, forward only; a real DELIVERED may replace an EXPIRED of our own
 * timer. All ids lie in [firstId, lastId]. Receipts give their time to the minute: it is never put before the submit.
 * Answers only the moves that need a second look, since most do not.
 */
export async function moveStates(
  db: Db,
  { moves, firstId, lastId }: { moves: readonly StateMove[]; firstId: string; lastId: string },
): Promise<Moved[]> {
  return many(
    db,
    sql`WITH moved AS (
          UPDATE message_state s
          SET status = u.status, done_at = greatest(u.done_at, s.submitted_at), updated_at = now(),
              error_code = u.error_code, error_text = u.error_text, receipt_text = u.receipt_text, credit_held = false
          FROM ${rowsOf(moves, {
            account_id: bigint((m) => m.accountId),
            id: uuid((m) => m.id),
            status: smallint((m) => m.status),
            done_at: timestamptz((m) => m.doneAt),
            error_code: text((m) => m.errorCode),
            error_text: text((m) => m.errorText),
            receipt_text: text((m) => m.receiptText ?? null),
            n: int((_, i) => i),
          })} AS u
          WHERE s.account_id = u.account_id AND s.id = u.id
            AND (s.status IN (0, 1) OR (u.status = 3 AND s.status = 4 AND s.error_code = ${EXPIRED_BY_US}))
            AND s.id BETWEEN ${firstId} AND ${lastId}
          RETURNING u.n, old.credit_held AS held, CASE WHEN old.status = 4 THEN old.updated_at END AS expired_at)
        SELECT n, m.held IS NOT NULL AS moved, coalesce(m.held, false) AS held, m.expired_at AS "expiredAt"
        FROM generate_series(0, ${moves.length - 1}::int) AS g (n) LEFT JOIN moved m USING (n)
        WHERE m.held IS NULL OR m.held OR m.expired_at IS NOT NULL`,
  );
}

/** What these messages cost, and whether the price is given back when they are not delivered. */
export async function listCharges(
  db: Db,
  keys: readonly { readonly accountId: number; readonly id: string }[],
): Promise<{ accountId: number; id: string; priceMicros: number; refundUndelivered: boolean }[]> {
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id, m.price_micros AS "priceMicros",
               m.refund_undelivered AS "refundUndelivered"
        FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id`,
  );
}

export type CarrierIdHit = [
  /** The place of the carrier id among those that were asked for. */
  n: number,
  accountId: number,
  id: string,
  part: number | null,
];

/** A bare id as spelled in a receipt; `exact` where only that very spelling is meant. */
export type SpelledId = { readonly bare: string; readonly exact: string | null };

/** The bare form of a stored id; the very expression of the indexes. */
const BARE = (column: ReturnType<typeof sql>) => sql`ltrim(upper(${column} COLLATE "C"), '0')`;

/**
 * The messages and parts of a connection that carry one of these carrier ids, among ids in [firstId, lastId].
 *
 * The array says once more what the join says, so that the index is searched for these ids: while a table has no
 * statistics, the planner expects the join to find nothing, and reads the connection's whole index for it.
 */
export async function listByCarrierIds(
  db: Db,
  look: { connectionId: number; carrierIds: readonly SpelledId[]; firstId: string; lastId: string },
): Promise<CarrierIdHit[]> {
  return tuples(
    db,
    sql`WITH u AS (
          SELECT * FROM ${rowsOf(look.carrierIds, {
            bare: text((id) => id.bare),
            exact: text((id) => id.exact),
            n: int((_, i) => i),
          })} AS ids)
        SELECT u.n, s.account_id, s.id, NULL::smallint FROM u
        JOIN message_state s ON ${BARE(sql`s.carrier_id`)} = u.bare AND s.carrier_id = coalesce(u.exact, s.carrier_id)
        WHERE s.connection_id = ${look.connectionId} AND ${BARE(sql`s.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND s.id BETWEEN ${look.firstId} AND ${look.lastId}
        UNION ALL
        SELECT u.n, p.account_id, p.message_id, p.part FROM u
        JOIN message_part p ON ${BARE(sql`p.carrier_id`)} = u.bare AND p.carrier_id = coalesce(u.exact, p.carrier_id)
        WHERE p.connection_id = ${look.connectionId} AND ${BARE(sql`p.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND p.message_id BETWEEN ${look.firstId} AND ${look.lastId}`,
  );
}
