import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import type { Book, LedgerKind } from '../sql.ts';

const LEDGER_ROW = columns({
  id: as<string>('id'),
  at: as<Date>('created_at'),
  kind: as<LedgerKind>('kind'),
  from: as<Book>('from_book'),
  to: as<Book>('to_book'),
  amountMicros: as<number>('amount_micros'),
  messages: as<number>('messages'),
  reference: as<string>('reference'),
});
export type LedgerRow = RowOf<typeof LEDGER_ROW>;

type LedgerFilter = { readonly accountId: number; readonly kind: LedgerKind | null };

const inLedger = ({ accountId, kind }: LedgerFilter) => sql`
  FROM ledger_entry WHERE account_id = ${accountId} AND (${kind}::text IS NULL OR kind = ${kind})`;

/** Lists a page of ledger entries, the newest first: ids are in the order of time. */
export async function listLedger(
  db: Db,
  filter: LedgerFilter & { readonly limit: number; readonly offset: number },
): Promise<LedgerRow[]> {
  return many(
    db,
    sql`SELECT ${LEDGER_ROW} ${inLedger(filter)} ORDER BY id DESC LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countLedger(db: Db, filter: LedgerFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${inLedger(filter)}`)).total;
}

/**
 * Returns the available credit, in millionths, right after this entry: the current credit minus the changes of newer
 * entries. One statement, so that both are of the same time.
 */
export async function findAvailableAfterEntry(
  db: Db,
  { accountId, id }: { readonly accountId: number; readonly id: string },
): Promise<number> {
  const row = await one<{ micros: number }>(
    db,
    sql`SELECT (coalesce((SELECT available_micros FROM credit_balance WHERE account_id = ${accountId}), 0)
               - coalesce(sum(CASE WHEN to_book = 'available' THEN amount_micros
                                   WHEN from_book = 'available' THEN -amount_micros ELSE 0 END), 0))::bigint AS micros
        FROM ledger_entry WHERE account_id = ${accountId} AND id > ${id}`,
  );
  return row.micros;
}
