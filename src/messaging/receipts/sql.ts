import type { Receipt } from '../../carriers/events.ts';
import { plainArray } from '../../platform/db/array.ts';
import { bigint, input, insertRows, int, json, rowsOf, text, timestamptz } from '../../platform/db/columns.ts';
import { type Db, exec, many, one, onePlan, sql } from '../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../platform/db/select.ts';

/** Receipts of one connection that were committed together. */
export type ReceiptBatch = { id: number; connectionId: number; receipts: readonly Receipt[]; receivedAt: Date };

/**
 * A receipt as the inbox stores it until it is processed: without the names of its fields, which are a third of the
 * bytes, and with its time as a number. Writing and reading it takes a third of the time.
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

/** Escapes NULs: a carrier may put one anywhere, but PostgreSQL's text may not contain one. */
const toJson = (value: unknown): string => JSON.stringify(value).replaceAll('\\u0000', '\\ufffd');

/** Receipts as the inbox stores them. */
export const receiptsJson = (receipts: readonly Receipt[]): string => toJson(receipts.map(toRow));

/** Returns a receipt as it reads after storage: the database takes no NUL, so another character replaces it. */
export const storable = (receipt: Receipt): Receipt =>
  hasNul(receipt) ? fromRow(JSON.parse(toJson(toRow(receipt))) as Row) : receipt;

const hasNul = ({ raw, sender, destination, errorCode, carrierIds }: Receipt): boolean =>
  raw.includes('\0') ||
  sender.includes('\0') ||
  destination.includes('\0') ||
  (errorCode?.includes('\0') ?? false) ||
  carrierIds.some((id) => id.includes('\0'));

/**
 * Stores receipts that are to be settled later in the inbox, in one row for each connection of the batch. They must be
 * committed before the carrier gets its response.
 */
export async function insertReceiptBatches(
  db: Db,
  batches: readonly { readonly connectionId: number; readonly receipts: readonly Receipt[] }[],
): Promise<void> {
  await exec(
    db,
    onePlan(
      insertRows('receipt_batch', batches, {
        connectionId: bigint,
        receipts: json((b) => receiptsJson(b.receipts)),
      }),
    ),
  );
}

/** Stores receipts that another cell has passed on in the inbox; each as `receiptsJson` wrote it there. */
export async function insertPassedReceipts(
  db: Db,
  batches: readonly { readonly connectionId: number; readonly receipts: string }[],
): Promise<void> {
  await exec(db, insertRows('receipt_batch', batches, { connectionId: bigint, receipts: json }));
}

const TAKEN_BATCH = columns({
  id: as<number>('id'),
  connectionId: as<number>('connection_id'),
  receivedAt: as<Date>('received_at'),
  receipts: as<Row[]>('receipts'),
});

/** Takes the oldest batches of the inbox, in order. They are deleted when the caller's transaction commits. */
export async function deleteReceiptBatches(db: Db, limit: number): Promise<ReceiptBatch[]> {
  const rows = await many(
    db,
    sql`DELETE FROM receipt_batch WHERE id IN (
          SELECT id FROM receipt_batch ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
        RETURNING ${TAKEN_BATCH}`,
  );
  return rows
    .sort((a, b) => a.id - b.id)
    .map(({ receipts, ...batch }) => ({ ...batch, receipts: receipts.map(fromRow) }));
}

/** A receipt that matches no message, or several. */
export type Unmatched = {
  readonly connectionId: number;
  readonly receipt: Receipt;
  readonly reason: 'unknown' | 'ambiguous';
  readonly receivedAt: Date;
};

/** Parks receipts that match no message, or several. They are tried again after `retryMs`. */
export async function insertUnmatched(
  db: Db,
  rows: readonly (Unmatched & { readonly retryMs: number })[],
): Promise<void> {
  await exec(
    db,
    insertRows(
      'receipt_unmatched',
      rows,
      {
        connectionId: bigint,
        receipt: json((r) => toJson(r.receipt)),
        reason: text,
        receivedAt: timestamptz,
        retryMs: input(int),
      },
      { next_try_at: sql`now() + u.retry_ms * interval '1 millisecond'` },
    ),
  );
}

/** A receipt as parked: receipts stay parked for days and people read them, so the fields have names. */
type InJson = Omit<Receipt, 'doneAt'> & { readonly doneAt: string | null };
const fromJson = (r: InJson): Receipt => ({ ...r, doneAt: r.doneAt === null ? null : new Date(r.doneAt) });

const PARKED = columns({
  id: as<number>('id'),
  connectionId: as<number>('connection_id'),
  receipt: as<InJson>('receipt'),
  reason: as<Unmatched['reason']>('reason'),
  receivedAt: as<Date>('received_at'),
  tries: as<number>('tries'),
});
/** A parked receipt, with its number of retries. */
export type Parked = Omit<RowOf<typeof PARKED>, 'receipt'> & Pick<Unmatched, 'receipt'>;

/** Locks up to `limit` parked receipts that are due to be tried again. */
export async function claimUnmatched(db: Db, limit: number): Promise<Parked[]> {
  const rows = await many(
    db,
    sql`SELECT ${PARKED}
        FROM receipt_unmatched WHERE next_try_at <= now() ORDER BY next_try_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`,
  );
  return rows.map((row) => ({ ...row, receipt: fromJson(row.receipt) }));
}

/** Deletes parked receipts by their ids. */
export async function deleteUnmatched(db: Db, ids: readonly number[]): Promise<void> {
  await exec(db, sql`DELETE FROM receipt_unmatched WHERE id = ANY(${plainArray(ids)}::bigint[])`);
}

/** Postpones parked receipts, twice as long each time, from 100 ms to an hour, and updates the reason. */
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

const UNMATCHED_COUNT = columns({
  connectionId: as<number>('connection_id'),
  count: as<number>('count(*)'),
  /** Time until the next one is tried, in ms; negative when it is overdue. */
  nextMs: as<number>('(extract(epoch FROM min(next_try_at) - now()) * 1000)::float8'),
});

/** Counts the parked receipts of each connection that has any. */
export const countUnmatched = (db: Db): Promise<RowOf<typeof UNMATCHED_COUNT>[]> =>
  many(db, sql`SELECT ${UNMATCHED_COUNT} FROM receipt_unmatched GROUP BY connection_id`);

/** Returns how long it is until a parked receipt is due to be tried again, in ms; null when none is parked. */
export async function findNextUnmatchedMs(db: Db): Promise<number | null> {
  const { ms } = await one<{ ms: number | null }>(
    db,
    sql`SELECT (extract(epoch FROM min(next_try_at) - now()) * 1000)::float8 AS ms FROM receipt_unmatched`,
  );
  return ms;
}

/** Deletes parked receipts that arrived more than `days` ago. Returns how many. */
export async function deleteOldUnmatched(db: Db, days: number): Promise<number> {
  return exec(db, sql`DELETE FROM receipt_unmatched WHERE received_at < now() - ${days} * interval '1 day'`);
}

/** NOTIFY channel that is raised when a process without workers has left receipts to them. */
export const RECEIPTS_CHANNEL = 'heliograph_receipts';

/** Wakes workers, because this process has put receipts into the inbox or parked some. */
export async function notifyReceipts(db: Db, left: 'stored' | 'parked'): Promise<void> {
  await exec(db, sql`SELECT pg_notify(${RECEIPTS_CHANNEL}, ${left})`);
}

/** Limits how long each further statement of the transaction may take, and so how long it may wait for a lock. */
export async function setStatementTimeoutMs(tx: Db, ms: number): Promise<void> {
  await exec(tx, onePlan(sql`SELECT set_config('statement_timeout', ${String(ms)}, true)`));
}

/** Deletes the parked receipts of the connections of the sandbox. Returns how many. */
export async function deleteUnmatchedOfSandbox(db: Db): Promise<number> {
  return exec(db, sql`DELETE FROM receipt_unmatched r USING connection c WHERE c.id = r.connection_id AND c.sandbox`);
}
