import { bigint, rowsOf, smallint, text, timestamptz, uuid } from '../../../platform/db/columns.ts';
import { type Db, exec, many, sql } from '../../../platform/db/query.ts';

export type NewPart = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly connectionId: number;
  readonly carrierId: string;
};

/** Remembers the carrier ids of the parts of long messages. A part submitted again takes the newer id. */
export async function insertParts(db: Db, rows: readonly NewPart[]): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO message_part (account_id, message_id, part, connection_id, carrier_id, status)
        SELECT *, 1 FROM ${rowsOf(rows, {
          account_id: bigint((r) => r.accountId),
          message_id: uuid((r) => r.messageId),
          part: smallint((r) => r.part),
          connection_id: bigint((r) => r.connectionId),
          carrier_id: text((r) => r.carrierId),
        })} AS u
        ON CONFLICT (account_id, message_id, part) DO UPDATE
          SET connection_id = excluded.connection_id, carrier_id = excluded.carrier_id, status = 1, done_at = NULL,
              receipt_text = NULL`,
  );
}

type Key = { readonly accountId: number; readonly messageId: string };

/** Messages whose ids all lie in [firstId, lastId], which keeps the other days' partitions out. */
type Keys = { readonly keys: readonly Key[]; readonly firstId: string; readonly lastId: string };

/**
 * Locks the states of these messages until the transaction ends, lowest id first. Whoever moves parts holds it: of two
 * transactions that each move one part, neither would see the other's, and nobody would find the message complete.
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

export type PartMove = {
  readonly accountId: number;
  readonly messageId: string;
  readonly part: number;
  readonly status: number;
  readonly doneAt: Date | null;
  /** The words of the receipt that says so. */
  readonly receiptText: string | null;
};

/** Moves parts of long messages, forward only. All ids lie in [firstId, lastId]. Answers the parts that moved. */
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
        WHERE p.account_id = u.account_id AND p.message_id = u.message_id AND p.part = u.part AND p.status IN (0, 1)
          AND p.message_id BETWEEN ${firstId} AND ${lastId}
        RETURNING p.message_id AS "messageId", p.part`,
  );
}

/** The statuses of all parts of these messages, and how many parts each message has in all. */
export async function listPartStatuses(
  db: Db,
  { keys, firstId, lastId }: Keys,
): Promise<{ accountId: number; messageId: string; parts: number; statuses: number[]; doneAt: Date | null }[]> {
  return many(
    db,
    sql`SELECT m.account_id AS "accountId", m.id AS "messageId", m.parts, array_agg(p.status) AS statuses,
               max(p.done_at) AS "doneAt"
        FROM ${rowsOf(keys, {
          account_id: bigint((k) => k.accountId),
          message_id: uuid((k) => k.messageId),
        })} AS u
        JOIN message m ON m.account_id = u.account_id AND m.id = u.message_id
        JOIN message_part p ON p.account_id = u.account_id AND p.message_id = u.message_id
        WHERE m.id BETWEEN ${firstId} AND ${lastId} AND p.message_id BETWEEN ${firstId} AND ${lastId}
        GROUP BY m.account_id, m.id, m.parts`,
  );
}
