import { bigint, insertRows, rowsOf, smallint, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { constant, type Db, exec, many, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { OPEN_STATES, STATUS } from '../../states.ts';

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
    sql`UPDATE message_part p SET status = u.status, done_at = u.done_at, receipt_text = u.receipt_text
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
  /**
   * Locks the states of these messages until the transaction ends, lowest id first. Lock them before moving parts: if
   * two transactions each move one part, neither would see the other's part, and neither would find the message
   * complete.
   */
  parts: as<number>('m.parts'),
  /** The statuses of the parts that a carrier accepted. */
  statuses: as<number[]>('array_agg(p.status)'),
  /** Time at which the last of them was done; null when none is. */
  doneAt: as<Date | null>('max(p.done_at)'),
});
/** The statuses of the parts of one message. */
export type PartStatuses = RowOf<typeof PART_STATUSES>;

/** Lists the statuses of the parts of these messages. */
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
        WHERE m.id BETWEEN ${firstId} AND ${lastId} AND p.message_id BETWEEN ${firstId} AND ${lastId}
        GROUP BY m.account_id, m.id, m.parts`,
  );
