import type { LongReceipts } from '../channels/smpp/settings.ts';
import {
  type BatchColumns,
  bigint,
  insertRows,
  int,
  once,
  rowsOf,
  smallint,
  text,
  timestamptz,
  uuid,
} from '../core/db/columns.ts';
import { as, columns, constant, type Db, exec, many, type RowOf, type Sql, sql, tuples } from '../core/db/query.ts';
import { OPEN_STATES, STATUS } from '../core/message-state.ts';

const ACCEPTED = constant(STATUS.ACCEPTED);

/** A part of a long message that a carrier accepted under a separate id. */
export type NewPart = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly connectionId: number;
  readonly carrierId: string;
};

/** Stores the carrier ids of the parts of long messages. A part that is submitted again gets the newer id. */
export async function insertParts(db: Db, rows: readonly NewPart[]): Promise<void> {
  await exec(
    db,
    sql`${insertRows(
      'message_part',
      rows,
      { accountId: bigint, messageId: uuid, part: smallint, connectionId: bigint, carrierId: text },
      { status: ACCEPTED },
    )}
        ON CONFLICT (account_id, message_id, part) DO UPDATE
          SET connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = ${ACCEPTED},
              done_at = NULL, receipt_text = NULL`,
  );
}

type Key = { readonly accountId: number; readonly messageId: string };

/** Messages whose ids all lie in [firstId, lastId]; the bounds keep the partitions of other days out of the plan. */
type Keys = { readonly keys: readonly Key[]; readonly firstId: string; readonly lastId: string };

/**
 * Locks the states of these messages until the transaction ends, lowest id first. Lock them before moving parts: of two
 * transactions that each move one part, neither would see the other's part, and neither would find the message
 * complete.
 */
export async function claimStates(db: Db, { keys, firstId, lastId }: Keys): Promise<void> {
  await exec(
    db,
    sql`SELECT FROM message_state s
        JOIN ${rowsOf(keys, { account_id: bigint((k) => k.accountId), id: uuid((k) => k.messageId) })} AS u
          ON s.account_id = u.account_id AND s.id = u.id
        WHERE s.id BETWEEN ${firstId} AND ${lastId}
        ORDER BY s.id FOR UPDATE OF s`,
  );
}

/** The state that a part of a long message is moved to. */
export type PartMove = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly status: number;
  readonly doneAt: Date | null;
  /** The text of the receipt that reports the state. */
  readonly receiptText: string | null;
};

/** Moves parts of long messages, forward only. All ids must lie in [firstId, lastId]. Returns the parts that moved. */
export async function moveParts(
  db: Db,
  { moves, firstId, lastId }: { moves: readonly PartMove[]; firstId: string; lastId: string },
): Promise<{ messageId: string; part: number }[]> {
  return many(
    db,
    sql`UPDATE message_part p SET status = u.status, done_at = u.done_at,
          receipt_text = CASE WHEN p.erased THEN NULL ELSE u.receipt_text END
        FROM ${rowsOf(moves, {
          account_id: bigint((m) => m.accountId),
          message_id: uuid((m) => m.messageId),
          part: smallint((m) => m.part),
          status: smallint((m) => m.status),
          done_at: timestamptz((m) => m.doneAt),
          receipt_text: text((m) => m.receiptText),
        })} AS u
        WHERE p.account_id = u.account_id AND p.message_id = u.message_id AND p.part = u.part AND p.status IN (${OPEN_STATES})
          AND p.message_id BETWEEN ${firstId} AND ${lastId}
        RETURNING p.message_id AS "messageId", p.part`,
  );
}

const PART_STATUSES = columns({
  accountId: as<number>('m.account_id'),
  messageId: as<string>('m.id'),
  parts: as<number>('m.parts'),
  /** The statuses of the parts that a carrier accepted, in order. */
  statuses: as<number[]>('array_agg(p.status ORDER BY p.part)'),
  /** The parts whose receipts the carrier sends, by the setting of its connection. */
  longReceipts: as<LongReceipts>("coalesce(min(c.settings ->> 'longReceipts'), 'all')"),
  /** Time at which the last of them was done; null when none is. */
  doneAt: as<Date | null>('max(p.done_at)'),
});
export type PartStatuses = RowOf<typeof PART_STATUSES>;

export const listPartStatuses = (db: Db, { keys, firstId, lastId }: Keys): Promise<PartStatuses[]> =>
  many(
    db,
    sql`SELECT ${PART_STATUSES}
        FROM ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          message_id: uuid((k) => k.messageId),
        })} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        JOIN message_part p ON p.account_id = u.account_id AND p.message_id = u.message_id
        LEFT JOIN connection c ON c.id = p.connection_id
        WHERE m.id BETWEEN ${firstId} AND ${lastId} AND p.message_id BETWEEN ${firstId} AND ${lastId}
        GROUP BY m.account_id, m.id, m.parts`,
  );

/** A message, or the part of a long message, that has a carrier id. Receipts come in batches, so it has no names. */
type CarrierIdHit = [
  /** The place of the carrier id in the request. */
  n: number,
  accountId: number,
  id: string,
  part: number | null,
  /** True: its content was erased. */
  erased: boolean | null,
];

/** A bare carrier id to look for; `exact` is the only spelling that fits, or null when any does. */
export type SpelledId = { readonly bare: string; readonly exact: string | null };

/** Computes the bare form of a stored id. It must be the expression of the indexes exactly. */
export const BARE = (column: Sql) => sql`ltrim(upper(${column} COLLATE "C"), '0')`;

const CARRIER_ID_FIELDS: BatchColumns<SpelledId> = once({
  bare: text((id) => id.bare),
  exact: text((id) => id.exact),
  n: int((_, i) => i),
});

/**
 * Lists the messages and parts of a connection that have one of these carrier ids, among ids in [firstId, lastId].
 *
 * The array repeats the condition of the join so that the index is searched for these ids: while a table has no
 * statistics, the planner expects the join to find nothing and reads the connection's whole index.
 */
export async function listByCarrierIds(
  db: Db,
  request: { connectionId: number; carrierIds: readonly SpelledId[]; firstId: string; lastId: string },
): Promise<CarrierIdHit[]> {
  return tuples(
    db,
    sql`WITH u AS (
          SELECT ids.bare, ids.exact, ids.n FROM ${rowsOf(request.carrierIds, CARRIER_ID_FIELDS)} AS ids)
        SELECT u.n, s.account_id, s.id, NULL::smallint, s.erased FROM u
        JOIN message_state s ON ${BARE(sql`s.carrier_id`)} = u.bare AND s.carrier_id = coalesce(u.exact, s.carrier_id)
        WHERE s.connection_id = ${request.connectionId} AND ${BARE(sql`s.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND s.id BETWEEN ${request.firstId} AND ${request.lastId}
        UNION ALL
        SELECT u.n, p.account_id, p.message_id, p.part, p.erased FROM u
        JOIN message_part p ON ${BARE(sql`p.carrier_id`)} = u.bare AND p.carrier_id = coalesce(u.exact, p.carrier_id)
        WHERE p.connection_id = ${request.connectionId} AND ${BARE(sql`p.carrier_id`)} = ANY (ARRAY(SELECT bare FROM u))
          AND p.message_id BETWEEN ${request.firstId} AND ${request.lastId}`,
  );
}

/** A message, as the hits of `listByCarrierIds` name it. */
type MessageKey = { readonly accountId: number; readonly id: string };

export async function listNumbers(
  db: Db,
  messages: readonly MessageKey[],
): Promise<[accountId: number, id: string, destination: string][]> {
  return tuples(
    db,
    sql`SELECT m.account_id, m.id, m.destination
        FROM ${rowsOf(messages, { account_id: bigint((m) => m.accountId), id: uuid((m) => m.id) })} AS wanted
        JOIN message m ON m.account_id = wanted.account_id AND m.id = wanted.id`,
  );
}
