import type { Receipt } from '../../carriers/events.ts';
import { plainArray } from '../../platform/db/array.ts';
import { bigint, int, json, rowsOf, text, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, many, onePlan, sql } from '../../platform/db/query.ts';

export type ReceiptBatch = { id: number; connectionId: number; receipts: readonly Receipt[]; receivedAt: Date };

/**
 * A receipt as the inbox keeps it, for the moment until it is worked off: without the names of its fields, which are a
 * third of the octets, and with its time as a number. Writing and reading it takes a third of the time.
 */
type Row = readonly [
  carrierIds: readonly string[],
  state: Receipt['state'],
  doneAtMs: number | null,
  errorCode: string | null,
  destination: string,
  sender: string,
  raw: string,
];

const toRow = (r: Receipt): Row => [
  r.carrierIds,
  r.state,
  r.doneAt === null ? null : r.doneAt.getTime(),
  r.errorCode,
  r.destination,
  r.sender,
  r.raw,
];

const fromRow = ([carrierIds, state, doneAtMs, errorCode, destination, sender, raw]: Row): Receipt => ({
  carrierIds,
  state,
  doneAt: doneAtMs === null ? null : new Date(doneAtMs),
  errorCode,
  destination,
  sender,
  raw,
});

/** A carrier may put a NUL anywhere; PostgreSQL's text may hold none. */
const toJson = (value: unknown): string => JSON.stringify(value).replaceAll('\\u0000', '\\ufffd');

/** Keeps receipts, one row for each connection of the batch. Committed before the carrier gets its answer. */
export async function insertReceiptBatches(
  db: Db,
  batches: readonly { readonly connectionId: number; readonly receipts: readonly Receipt[] }[],
): Promise<{ id: number; connectionId: number }[]> {
  return many(
    db,
    onePlan(sql`INSERT INTO receipt_batch (connection_id, receipts)
        SELECT * FROM ${rowsOf(batches, {
          connection_id: bigint((b) => b.connectionId),
          receipts: json((b) => toJson(b.receipts.map(toRow))),
        })} AS u
        RETURNING id, connection_id AS "connectionId"`),
  );
}

/**
 * Takes the oldest batches, in order. Gone only when the caller's transaction commits. Those `atHand` are taken like
 * the others, but not read.
 */
export async function deleteReceiptBatches(
  db: Db,
  limit: number,
  atHand: ReadonlyMap<number, readonly Receipt[]> = new Map(),
): Promise<ReceiptBatch[]> {
  const rows = await many<Omit<ReceiptBatch, 'receipts'> & { receipts: Row[] | null }>(
    db,
    sql`DELETE FROM receipt_batch WHERE id IN (
          SELECT id FROM receipt_batch ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING id, connection_id AS "connectionId", received_at AS "receivedAt",
                  CASE WHEN id <> ALL (${plainArray([...atHand.keys()])}::bigint[]) THEN receipts END AS receipts`,
  );
  return rows
    .sort((a, b) => a.id - b.id)
    .map(({ receipts, ...batch }) => ({ ...batch, receipts: receipts?.map(fromRow) ?? atHand.get(batch.id) ?? [] }));
}

export type Unmatched = {
  readonly connectionId: number;
  readonly receipt: Receipt;
  readonly reason: 'unknown' | 'ambiguous';
  readonly receivedAt: Date;
};

/** Parks receipts that fit no message, or several. */
export async function insertUnmatched(
  db: Db,
  rows: readonly (Unmatched & { readonly retryMs: number })[],
): Promise<void> {
  await exec(
    db,
    sql`INSERT INTO receipt_unmatched (connection_id, receipt, reason, received_at, next_try_at)
        SELECT u.connection_id, u.receipt, u.reason, u.received_at, now() + u.retry_ms * interval '1 millisecond'
        FROM ${rowsOf(rows, {
          connection_id: bigint((r) => r.connectionId),
          receipt: json((r) => toJson(r.receipt)),
          reason: text((r) => r.reason),
          received_at: timestamptz((r) => r.receivedAt),
          retry_ms: int((r) => r.retryMs),
        })} AS u`,
  );
}

export type Parked = Unmatched & { readonly id: number; readonly tries: number };

/** Parked receipts stay for days and people look at them, so they keep the names of their fields. */
type InJson = Omit<Receipt, 'doneAt'> & { readonly doneAt: string | null };
const fromJson = (r: InJson): Receipt => ({ ...r, doneAt: r.doneAt === null ? null : new Date(r.doneAt) });

/** Locks parked receipts whose time to be tried again has come. */
export async function claimUnmatched(db: Db, limit: number): Promise<Parked[]> {
  const rows = await many<Omit<Parked, 'receipt'> & { receipt: InJson }>(
    db,
    sql`SELECT id, connection_id AS "connectionId", receipt, reason, received_at AS "receivedAt", tries
        FROM receipt_unmatched WHERE next_try_at <= now() ORDER BY next_try_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
  return rows.map((row) => ({ ...row, receipt: fromJson(row.receipt) }));
}

export async function deleteUnmatched(db: Db, ids: readonly number[]): Promise<void> {
  await exec(db, sql`DELETE FROM receipt_unmatched WHERE id = ANY(${plainArray(ids)}::bigint[])`);
}

/** Puts parked receipts off: twice as long each time, from 100 ms to an hour. */
export async function updateUnmatchedRetry(
  db: Db,
  rows: readonly { readonly id: number; readonly reason: 'unknown' | 'ambiguous' }[],
): Promise<void> {
  await exec(
    db,
    sql`UPDATE receipt_unmatched r
        SET tries = tries + 1, reason = u.reason,
            next_try_at = now() + least(interval '1 hour', interval '100 milliseconds' * power(2, least(tries, 16)))
        FROM ${rowsOf(rows, {
          id: bigint((r) => r.id),
          reason: text((r) => r.reason),
        })} AS u
        WHERE r.id = u.id`,
  );
}

/** Parked receipts by connection, and how long until the next one is tried (ms; null when none is parked). */
export async function countUnmatched(db: Db): Promise<{ connectionId: number; count: number; nextMs: number }[]> {
  return many(
    db,
    sql`SELECT connection_id AS "connectionId", count(*) AS count,
               (extract(epoch FROM min(next_try_at) - now()) * 1000)::float8 AS "nextMs"
        FROM receipt_unmatched GROUP BY connection_id`,
  );
}

/** How long until a parked receipt is to be tried again, in ms; null when none is parked. */
export async function findNextUnmatchedMs(db: Db): Promise<number | null> {
  const [row] = await many<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(next_try_at) - now()) * 1000)::float8 AS ms FROM receipt_unmatched`,
  );
  return row?.ms ?? null;
}

/** Forgets parked receipts that came before the given number of days. */
export async function deleteOldUnmatched(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM receipt_unmatched WHERE received_at < now() - ${days} * interval '1 day'`);
}

/** NOTIFY channel that is raised when a process without workers has taken receipts. */
export const RECEIPTS_CHANNEL = 'heliograph_receipts';

export async function notifyReceipts(db: Db): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${RECEIPTS_CHANNEL}, 'arrived')`);
}
