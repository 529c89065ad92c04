import {
  bigint,
  boolean,
  bytea,
  insertRows,
  int,
  json,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, raw, sql, tuples } from '../../platform/db/query.ts';
import { bitOf, type Channel } from '../../platform/lib/channel.ts';
import { boundsOf } from '../../platform/lib/ids.ts';
import type { StoredContent } from '../../network/templates/content.ts';

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
  /** What people read; beside a `content` it may be empty. */
  readonly body: string;
  /** What is sent in place of the text; null for SMS. */
  readonly content: StoredContent | null;
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
  /** The campaign in whose totals it counts. */
  readonly campaignId: number | null;
  /** What is given back of its price stays with its campaign, which gives it back. */
  readonly keepsReserve: boolean;
};

/** Stores messages of any accounts in one statement: 1,000 rows a statement ran at 91,000 rows/s. */
export async function insertMessages(db: Db, rows: readonly NewMessage[]): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows('message', rows, {
        accountId: bigint,
        id: uuid,
        clientId: text,
        channel: text,
        source: text,
        simulation: boolean,
        connectionId: bigint,
        sender: text,
        destination: text,
        body: text,
        content: json((r) => r.content && JSON.stringify(r.content)),
        udh: bytea,
        binaryBody: bytea,
        parts: smallint,
        wantReceipt: boolean,
        validUntil: timestamptz,
        scheduledAt: timestamptz,
        priceMicros: bigint,
        refundUndelivered: boolean,
        apiKeyId: bigint,
        userId: bigint,
        campaignId: bigint,
        keepsReserve: boolean,
      }),
    ),
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
          SET message_id = excluded.message_id, content_hash = excluded.content_hash, created_at = excluded.created_at,
              newest_id = NULL
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
  /** What most messages do not have is null here and further down: it costs them nothing. */
  content: StoredContent | null,
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
  /** Null: SMS. */
  channel: Channel | null,
  campaignId: number | null,
  keepsReserve: true | null,
];

/** What a carrier needs of these messages. All ids lie in [firstId, lastId], which keeps the other days' partitions out. */
export async function listQueuedMessages(
  db: Db,
  look: { messages: readonly { accountId: number; id: string }[]; firstId: string; lastId: string },
): Promise<QueuedMessage[]> {
  return tuples(
    db,
    sql`SELECT u.n, m.content, m.sender, m.destination, m.body, m.udh, m.binary_body, m.parts, m.want_receipt, m.valid_until,
               m.scheduled_at, m.price_micros, m.refund_undelivered, nullif(m.channel, 'SMS'), m.campaign_id,
               nullif(m.keeps_reserve, false)
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
  /** As the message has them. */
  readonly channel: Channel;
  readonly campaignId: number | null;
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
    channel: smallint((r) => bitOf(r.channel)),
    campaign_id: bigint((r) => r.campaignId),
  })} AS u`;

/** Records first outcomes. Fails (23505) when one of the messages has a state already: `moveOutcomes` sorts that out. */
export async function insertStates(db: Db, rows: readonly NewState[]): Promise<void> {
  await exec(
    db,
    onePlan(sql`INSERT INTO message_state (account_id, id, status, attempts, connection_id, carrier_id, submitted_at, updated_at,
                                   error_code, error_text, credit_held, possible_duplicate, channel, campaign_id)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text, u.credit_held,
               u.possible_duplicate, u.channel, u.campaign_id
        FROM ${stateColumns(rows)}`),
  );
}

/** Whether by this state a carrier has, or may have, the message. */
const SENT = (state: 'old' | 'new') => raw(`(${state}.submitted_at IS NOT NULL OR ${state}.possible_duplicate)`);

/**
 * Records outcomes of messages that may have a state. Answers the ids that were news, each with what it adds to how many
 * were sent: an attempt that is already recorded stays as it is, except that a known outcome replaces an unknown one of
 * the same attempt, after which the message may prove not to have been sent (-1).
 */
export async function moveOutcomes(db: Db, rows: readonly NewState[]): Promise<Map<string, number>> {
  const changed = await tuples<[id: string, sent: number]>(
    db,
    sql`INSERT INTO message_state AS s (account_id, id, status, attempts, connection_id, carrier_id, submitted_at,
                                        updated_at, error_code, error_text, credit_held, possible_duplicate,
                                        channel, campaign_id)
        SELECT u.account_id, u.id, u.status, u.attempts, u.connection_id, u.carrier_id,
               CASE WHEN u.submitted THEN now() END, now(), u.error_code, u.error_text, u.credit_held,
               u.possible_duplicate, u.channel, u.campaign_id
        FROM ${stateColumns(rows)} ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO UPDATE
          SET status = excluded.status, attempts = excluded.attempts, connection_id = excluded.connection_id,
              carrier_id = excluded.carrier_id, submitted_at = excluded.submitted_at, updated_at = excluded.updated_at,
              error_code = excluded.error_code, error_text = excluded.error_text, credit_held = excluded.credit_held,
              possible_duplicate = s.possible_duplicate OR excluded.possible_duplicate
          WHERE s.status IN (0, 1) AND (s.attempts < excluded.attempts
             OR (s.attempts = excluded.attempts AND s.status = 0 AND excluded.status <> 0))
        RETURNING s.id, (${SENT('new')} OR new.status NOT IN (0, 1))::int - coalesce(${SENT('old')}, false)::int`,
  );
  return new Map(changed);
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

/**
 * Moves that need a second look, those together of which the same is to say: they did not happen, they end a frozen price,
 * they replace a final state of ours, or the messages are others than those that a carrier has, on SMS, without a
 * campaign.
 */
export type Moved = [
  /** Their places among the moves, with commas between them: a row for each message of a campaign cost 3 µs of CPU. */
  places: string,
  /** False when the messages have an end already. */
  moved: boolean,
  /** Their prices were frozen until now. */
  held: boolean,
  /** Since when the state that they leave was a final one; null: it was not. */
  expiredAt: Date | null,
  /** A carrier has them, or may have them. */
  wasSent: boolean,
  /** Its bit. */
  channel: number,
  campaignId: number | null,
];

/**
 * Moves messages to the state that a receipt reports, forward only; a real DELIVERED may replace an EXPIRED of our own
 * timer. All ids lie in [firstId, lastId]. Receipts give their time to the minute: it is never put before the submit.
 * Answers only the moves that need a second look, since most do not.
 */
export async function moveStates(
  db: Db,
  { moves, firstId, lastId }: { moves: readonly StateMove[]; firstId: string; lastId: string },
): Promise<Moved[]> {
  return tuples(
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
          RETURNING u.n, old.credit_held AS held, CASE WHEN old.status = 4 THEN old.updated_at END AS expired_at,
                    ${SENT('old')} AS was_sent, s.channel, s.campaign_id)
        SELECT string_agg(n::text, ','), m.held IS NOT NULL, coalesce(m.held, false), m.expired_at,
               coalesce(m.was_sent, false), coalesce(m.channel, 0), m.campaign_id
        FROM generate_series(0, ${moves.length - 1}::int) AS g (n) LEFT JOIN moved m USING (n)
        WHERE m.held IS NULL OR m.held OR m.expired_at IS NOT NULL OR NOT m.was_sent OR m.channel <> 1
           OR m.campaign_id IS NOT NULL
        GROUP BY m.held, m.expired_at, m.was_sent, m.channel, m.campaign_id`,
  );
}

type Key = { readonly accountId: number; readonly id: string };

/** Messages by their keys, as `m`: of their days alone, by index. */
export function messagesByKey(keys: readonly Key[]): ReturnType<typeof sql> {
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  const rows = rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });
  return sql`${rows} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}`;
}

export type Read = Key & { readonly readAt: Date };

/**
 * Notes of delivered messages that they were read, once each. All ids lie in [firstId, lastId]. Answers those for which
 * that was news.
 */
export async function updateReadTimes(
  db: Db,
  { reads, firstId, lastId }: { reads: readonly Read[]; firstId: string; lastId: string },
): Promise<(Key & { channel: number; campaignId: number | null; readAt: Date })[]> {
  return many(
    db,
    sql`UPDATE message_state s SET read_at = greatest(u.read_at, s.submitted_at)
        FROM ${rowsOf(reads, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          read_at: timestamptz((r) => r.readAt),
        })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.id AND s.status = 3 AND s.read_at IS NULL
          AND s.id BETWEEN ${firstId} AND ${lastId}
        RETURNING s.account_id AS "accountId", s.id, s.channel, s.campaign_id AS "campaignId", s.read_at AS "readAt"`,
  );
}

export type PricedMessage = Key & { priceMicros: number; refundUndelivered: boolean; keepsReserve: boolean };

/** What these messages cost, and where the price goes when they are not delivered. */
export async function listCharges(db: Db, keys: readonly Key[]): Promise<PricedMessage[]> {
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id, m.price_micros AS "priceMicros",
               m.refund_undelivered AS "refundUndelivered", m.keeps_reserve AS "keepsReserve"
        FROM ${messagesByKey(keys)}`,
  );
}

/** What the states of these messages copy of them; those that are gone are left out. */
export async function listTraits(
  db: Db,
  keys: readonly Key[],
): Promise<(Key & { channel: Channel; campaignId: number | null })[]> {
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id, m.channel, m.campaign_id AS "campaignId"
        FROM ${messagesByKey(keys)}`,
  );
}
