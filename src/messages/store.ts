import { bitOf, CHANNELS, type Channel } from '../core/channels.ts';
import {
  type BatchColumns,
  bigint,
  boolean,
  insertRows,
  int,
  once,
  type RowColumns,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../core/db/columns.ts';
import {
  as,
  columns,
  constant,
  type Db,
  exec,
  many,
  onePlan,
  type RowOf,
  raw,
  type Sql,
  sql,
  tuples,
} from '../core/db/query.ts';
import { boundsOf } from '../core/ids.ts';
import { OPEN_STATES, STATUS } from '../core/message-state.ts';
import type { StoredContent } from '../templates/content.ts';

const UNKNOWN = constant(STATUS.UNKNOWN);
const DELIVERED = constant(STATUS.DELIVERED);
const EXPIRED = constant(STATUS.EXPIRED);
const SMS = constant(bitOf('SMS'));

/** An expression: the bit of the channel whose name is in this column. */
export const bitSql = (channel: Sql): Sql =>
  sql`CASE ${channel} ${raw(CHANNELS.map((one) => `WHEN '${one}' THEN ${bitOf(one)}`).join(' '))} END`;

/**
 * A message as its dispatcher loads it, in the order of the select list of `listQueuedMessages`. Every message passes
 * here, so the values come without names, and fields that most messages do not have are null, which costs nothing.
 */
export type QueuedMessage = [
  /** The place of the message in the request. */
  n: number,
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
  /** Null stands for SMS. */
  channel: Channel | null,
  campaignId: number | null,
  keepsReserve: true | null,
  dataCoding: number | null,
  tlvs: Buffer | null,
];

const QUEUED_KEYS = once({
  account_id: bigint((m: Key) => m.accountId),
  id: uuid((m: Key) => m.id),
  n: int((_, i) => i),
});

/**
 * Lists the fields of these messages that a carrier needs. All ids must lie in [firstId, lastId]: the bounds keep the
 * partitions of other days out of the plan.
 */
export async function listQueuedMessages(
  db: Db,
  request: { messages: readonly { accountId: number; id: string }[]; firstId: string; lastId: string },
): Promise<QueuedMessage[]> {
  return tuples(
    db,
    sql`SELECT u.n, m.content, m.sender, m.destination, m.body, m.udh, m.binary_body, m.parts, m.want_receipt, m.valid_until,
               m.scheduled_at, m.price_micros, m.refund_undelivered, nullif(m.channel, 'SMS'), m.campaign_id,
               nullif(m.keeps_reserve, false), m.data_coding, m.tlvs
        FROM ${rowsOf(request.messages, QUEUED_KEYS)} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id
        WHERE m.id BETWEEN ${request.firstId} AND ${request.lastId}`,
  );
}

/** The outcome of an attempt, as the table `message_state` stores it. */
export type NewState = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly attempts: number;
  readonly connectionId: number | null;
  readonly carrierId: string | null;
  /** Time at which the carrier took the message, or may have taken it; null if it did not. */
  readonly submittedAt: Date | null;
  readonly errorCode: string | null;
  readonly errorText: string | null;
  /** The message is sent again although the carrier may have it. */
  readonly possibleDuplicate: boolean;
  /** The price stays frozen, because it may still be earned or returned. */
  readonly creditHeld: boolean;
  /** The message costs nothing: its price goes back to the account, or to the reserve of its campaign. */
  readonly creditReturned: boolean;
  readonly channel: Channel;
  readonly campaignId: number | null;
};

const STATE_FIELDS: RowColumns<NewState> = once({
  accountId: bigint,
  id: uuid,
  status: smallint,
  attempts: smallint,
  connectionId: bigint,
  carrierId: text,
  submittedAt: timestamptz,
  errorCode: text,
  errorText: text,
  possibleDuplicate: boolean,
  creditHeld: boolean,
  creditReturned: boolean,
  channel: smallint((r) => bitOf(r.channel)),
  campaignId: bigint,
});

const insertStatesInto = (table: string, rows: readonly NewState[]): Sql =>
  insertRows(table, rows, STATE_FIELDS, {
    updated_at: sql`now()`,
  });

/** Records first outcomes. Fails (23505) when one of the messages has a state already; `moveOutcomes` allows that. */
export async function insertStates(db: Db, rows: readonly NewState[]): Promise<void> {
  await exec(db, onePlan(insertStatesInto('message_state', rows)));
}

/** True if a carrier has the message of a state, or may have it. */
const isSent = (state: string): Sql => raw(`(${state}.submitted_at IS NOT NULL OR ${state}.possible_duplicate)`);
/** Addition of a state `s` to the number of sent messages. */
const SENT_COUNT = sql`(${isSent('s')} OR s.status NOT IN (${OPEN_STATES}))::int`;

/** Change made by a recorded outcome. */
export type OutcomeMove = {
  /** Addition to the number of sent messages: -1 when a message that counted as sent proves not to have been sent. */
  readonly sent: number;
  /** True if it replaces the unknown outcome of the same attempt. */
  readonly replaces: boolean;
};

/**
 * Records outcomes of messages that may have a state already. A recorded attempt is unchanged, except that a known
 * outcome replaces an unknown one of the same attempt.
 *
 * @returns the messages that changed, by their ids
 */
export async function moveOutcomes(db: Db, rows: readonly NewState[]): Promise<Map<string, OutcomeMove>> {
  const inserted = await insertMissingStates(db, rows);
  const others = rows.filter(({ id }) => !inserted.has(id));
  return others.length === 0 ? inserted : new Map([...inserted, ...(await updateOutcomes(db, others))]);
}

/** Records the outcomes of messages without a state. */
async function insertMissingStates(db: Db, rows: readonly NewState[]): Promise<Map<string, OutcomeMove>> {
  const inserted = await tuples<[id: string, sent: number]>(
    db,
    sql`${insertStatesInto('message_state AS s', rows)} ORDER BY u.account_id, u.id
        ON CONFLICT (account_id, id) DO NOTHING RETURNING s.id, ${SENT_COUNT}`,
  );
  return new Map(inserted.map(([id, sent]) => [id, { sent, replaces: false }]));
}

/** Replaces states by those of later outcomes. */
async function updateOutcomes(db: Db, rows: readonly NewState[]): Promise<Map<string, OutcomeMove>> {
  const [firstId, lastId] = boundsOf(rows.map(({ id }) => id));
  const changed = await tuples<[id: string, sent: number, replaces: boolean]>(
    db,
    sql`WITH later AS MATERIALIZED (
          SELECT u.*, ${isSent('o')} AS was_sent, o.attempts = u.attempts AS replaces, o.possible_duplicate OR u.possible_duplicate AS doubtful
          FROM ${rowsOf(rows, {
            account_id: bigint((r) => r.accountId),
            id: uuid((r) => r.id),
            status: smallint((r) => r.status),
            attempts: smallint((r) => r.attempts),
            connection_id: bigint((r) => r.connectionId),
            carrier_id: text((r) => r.carrierId),
            submitted_at: timestamptz((r) => r.submittedAt),
            error_code: text((r) => r.errorCode),
            error_text: text((r) => r.errorText),
            possible_duplicate: boolean((r) => r.possibleDuplicate),
            credit_held: boolean((r) => r.creditHeld),
            credit_returned: boolean((r) => r.creditReturned),
          })} AS u
          JOIN message_state o ON o.account_id = u.account_id AND o.id = u.id
          WHERE o.id BETWEEN ${firstId} AND ${lastId} AND o.status IN (${OPEN_STATES}) AND (o.attempts < u.attempts
             OR (o.attempts = u.attempts AND o.status = ${UNKNOWN} AND u.status <> ${UNKNOWN}))
          ORDER BY u.account_id, u.id FOR UPDATE OF o)
        UPDATE message_state s
        SET status = l.status, attempts = l.attempts, connection_id = l.connection_id, carrier_id = l.carrier_id,
            submitted_at = l.submitted_at, updated_at = now(), error_code = l.error_code,
            error_text = l.error_text, credit_held = l.credit_held, credit_returned = l.credit_returned,
            possible_duplicate = l.doubtful
        FROM later l WHERE s.account_id = l.account_id AND s.id = l.id AND s.id BETWEEN ${firstId} AND ${lastId}
        RETURNING s.id, ${SENT_COUNT} - l.was_sent::int, l.replaces`,
  );
  return new Map(changed.map(([id, sent, replaces]) => [id, { sent, replaces }]));
}

/** The error code of messages that were expired by our own timer and not by a carrier. */
export const EXPIRED_BY_US = 'VALIDITY_ENDED';

export type StateMove = {
  readonly accountId: number;
  readonly id: string;
  readonly status: number;
  readonly doneAt: Date | null;
  readonly errorCode: string | null;
  readonly errorText: string | null;
  /**
   * The text of the receipt that reports the state, and whether one does, which proves that the carrier took the
   * message.
   */
  readonly receiptText?: string | null;
  readonly isReported?: true;
};

const MOVE_GROUP = columns({
  /** The places among all moves, separated by commas: a row for each message of a campaign cost 3 µs of CPU. */
  places: as<string>("string_agg(n::text, ',')"),
  /** False when the messages had a final state already. */
  moved: as<boolean>('m.held IS NOT NULL'),
  /** True if the prices were frozen until now. */
  held: as<boolean>('coalesce(m.held, false)'),
  /** Time at which our own timer had expired the messages; null when they had no final state before. */
  expiredAt: as<Date | null>('m.expired_at'),
  /** True if a carrier has the messages, or may have them. */
  wasSent: as<boolean>('coalesce(m.was_sent, false)'),
  channel: as<number>('coalesce(m.channel, 0)'),
  campaignId: as<number | null>('m.campaign_id'),
});
/** Moves that need further work and have the same facts in common, by their places among all moves. */
export type MoveGroup = Omit<RowOf<typeof MOVE_GROUP>, 'places'> & { readonly places: readonly number[] };

type Moves = { readonly moves: readonly StateMove[]; readonly firstId: string; readonly lastId: string };

/**
 * Moves messages to the state that a receipt reports, forward only; a real DELIVERED may replace an EXPIRED that we set
 * timer. All ids must lie in [firstId, lastId]. Receipts give their time to the minute: `done_at` is never set before
 * the submit.
 *
 * The condition of each statement contains the former state of a row, since PostgreSQL returns old rows only from
 * version 18 on: first those without a frozen price, which are nearly all, then those with one. The rest (final states,
 * and rows that changed meanwhile) is locked before it is moved, which costs twice as much.
 *
 * @returns only the moves that need further work, in groups, since most need none: those that did not happen, ended a
 * frozen price or replaced a final state of ours, and those of messages that no carrier has, on other channels than
 * SMS, or of campaigns
 */
export async function moveStates(db: Db, { moves, firstId, lastId }: Moves): Promise<MoveGroup[]> {
  const moved: MoveGroup[] = [];
  let left: readonly number[] = moves.map((_, place) => place);
  let stayed: MoveGroup[] = [];
  for (const statement of [moveUnheld, moveHeld, moveLocked]) {
    const some = left.flatMap((place) => moves[place] ?? []);
    const rows = await many(db, groupsOf(statement({ moves: some, firstId, lastId }), some.length));
    const groups = rows.map((row) => ({ ...row, places: row.places.split(',').map((n) => left[Number(n)] ?? 0) }));
    moved.push(...groups.filter((group) => group.moved));
    stayed = groups.filter((group) => !group.moved);
    if (stayed.length === 0) break;
    left = stayed.flatMap(({ places }) => places).toSorted((a, b) => a - b);
  }
  return [...moved, ...stayed];
}

/** Groups the moves that need further work, out of `count` moves; the statement `moved` returns those that happened. */
const groupsOf = (moved: Sql, count: number) =>
  sql`WITH ${moved}
      SELECT ${MOVE_GROUP}
      FROM generate_series(0, ${count - 1}::int) AS g (n) LEFT JOIN moved m USING (n)
      WHERE m.held IS NULL OR m.held OR m.expired_at IS NOT NULL OR NOT m.was_sent OR m.channel <> ${SMS}
         OR m.campaign_id IS NOT NULL
      GROUP BY m.held, m.expired_at, m.was_sent, m.channel, m.campaign_id`;

const MOVE_FIELDS: BatchColumns<StateMove> = once({
  account_id: bigint((m) => m.accountId),
  id: uuid((m) => m.id),
  status: smallint((m) => m.status),
  done_at: timestamptz((m) => m.doneAt),
  error_code: text((m) => m.errorCode),
  error_text: text((m) => m.errorText),
  receipt_text: text((m) => m.receiptText ?? null),
  n: int((_, i) => i),
});

const UPDATE_STATE = sql`UPDATE message_state s
          SET status = u.status, done_at = greatest(u.done_at, s.submitted_at), updated_at = now(),
              error_code = u.error_code, error_text = CASE WHEN s.erased THEN NULL ELSE u.error_text END,
              receipt_text = CASE WHEN s.erased THEN NULL ELSE u.receipt_text END, credit_held = false`;
const MOVED_FACTS = sql`${isSent('s')} AS was_sent, s.channel, s.campaign_id`;

const moveUnheld = (request: Moves): Sql => moveOpen(request, sql`NOT s.credit_held`, sql`false`);
const moveHeld = (request: Moves): Sql => moveOpen(request, sql`s.credit_held`, sql`true`);

const moveOpen = ({ moves, firstId, lastId }: Moves, condition: Sql, held: Sql): Sql =>
  sql`moved AS (
          ${UPDATE_STATE} FROM ${rowsOf(moves, MOVE_FIELDS)} AS u
          WHERE s.account_id = u.account_id AND s.id = u.id AND s.status IN (${OPEN_STATES}) AND ${condition}
            AND s.id BETWEEN ${firstId} AND ${lastId}
          RETURNING u.n, ${held} AS held, NULL::timestamptz AS expired_at, ${MOVED_FACTS})`;

const moveLocked = ({ moves, firstId, lastId }: Moves): Sql =>
  sql`u AS MATERIALIZED (
          SELECT u.*, s.credit_held AS held, CASE WHEN s.status = ${EXPIRED} THEN s.updated_at END AS expired_at
          FROM ${rowsOf(moves, MOVE_FIELDS)} AS u JOIN message_state s ON s.account_id = u.account_id AND s.id = u.id
          WHERE s.id BETWEEN ${firstId} AND ${lastId}
            AND (s.status IN (${OPEN_STATES})
                 OR (u.status = ${DELIVERED} AND s.status = ${EXPIRED} AND s.error_code = ${EXPIRED_BY_US}))
          FOR UPDATE OF s),
        moved AS (
          ${UPDATE_STATE} FROM u
          WHERE s.account_id = u.account_id AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}
          RETURNING u.n, u.held, u.expired_at, ${MOVED_FACTS})`;

export type Key = { readonly accountId: number; readonly id: string };

/**
 * The FROM items of a statement that reads messages by their keys: the keys as `u`, joined with the messages as `m`.
 * Only the partitions of the messages' days are planned, and they are searched by index.
 */
export function messagesByKey(keys: readonly Key[]): Sql {
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  const rows = rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) });
  return sql`${rows} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.id AND m.id BETWEEN ${firstId} AND ${lastId}`;
}

export type MessageRead = Key & { readonly readAt: Date };

const RECORDED_READ = columns({
  accountId: as<number>('s.account_id'),
  id: as<string>('s.id'),
  channel: as<number>('s.channel'),
  campaignId: as<number | null>('s.campaign_id'),
  readAt: as<Date>('s.read_at'),
});
/** A message whose time of reading was recorded, with the bit of its channel. */
export type RecordedRead = RowOf<typeof RECORDED_READ>;

/**
 * Records when delivered messages were read, once each. All ids must lie in [firstId, lastId]. Returns the messages
 * that had no such time before.
 */
export const updateReadTimes = (
  db: Db,
  { reads, firstId, lastId }: { reads: readonly MessageRead[]; firstId: string; lastId: string },
): Promise<RecordedRead[]> =>
  many(
    db,
    sql`UPDATE message_state s SET read_at = greatest(u.read_at, s.submitted_at)
        FROM ${rowsOf(reads, {
          account_id: bigint((r) => r.accountId),
          id: uuid((r) => r.id),
          read_at: timestamptz((r) => r.readAt),
        })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.id AND s.status = ${DELIVERED} AND s.read_at IS NULL
          AND s.id BETWEEN ${firstId} AND ${lastId}
        RETURNING ${RECORDED_READ}`,
  );

const PRICED_MESSAGE = columns({
  accountId: as<number>('m.account_id'),
  id: as<string>('m.id'),
  priceMicros: as<number>('m.price_micros'),
  refundUndelivered: as<boolean>('m.refund_undelivered'),
  keepsReserve: as<boolean>('m.keeps_reserve'),
});
/** The price of a message, and its destination when the message is not delivered. */
export type PricedMessage = RowOf<typeof PRICED_MESSAGE>;

export const listCharges = (db: Db, keys: readonly Key[]): Promise<PricedMessage[]> =>
  many(db, sql`SELECT ${PRICED_MESSAGE} FROM ${messagesByKey(keys)}`);

/** Records that the prices of messages were returned. Their states are locked already by the move to their end. */
export async function updateReturned(db: Db, keys: readonly Key[]): Promise<void> {
  const [firstId, lastId] = boundsOf(keys.map((key) => key.id));
  await exec(
    db,
    sql`UPDATE message_state s SET credit_returned = true
        FROM ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.id) })} AS u
        WHERE s.account_id = u.account_id AND s.id = u.id AND s.id BETWEEN ${firstId} AND ${lastId}`,
  );
}

const MESSAGE_TRAITS = columns({
  accountId: as<number>('m.account_id'),
  id: as<string>('m.id'),
  channel: as<Channel>('m.channel'),
  campaignId: as<number | null>('m.campaign_id'),
  destination: as<string>('m.destination'),
  parts: as<number>('m.parts'),
  network: as<string | null>(
    '(SELECT n.network FROM number_network n WHERE n.number = m.destination AND n.valid_until > now())',
  ),
});
/** Properties of a message that its outcome needs. */
export type MessageTraits = RowOf<typeof MESSAGE_TRAITS>;

/** Lists the properties of these messages that their outcomes need. Messages that no longer exist are omitted. */
export const listTraits = (db: Db, keys: readonly Key[]): Promise<MessageTraits[]> =>
  many(db, sql`SELECT ${MESSAGE_TRAITS} FROM ${messagesByKey(keys)}`);
