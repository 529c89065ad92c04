import { type Db, many, one, sql } from '../../../platform/db/query.ts';
import type { Book, LedgerKind } from '../sql.ts';

export type LedgerRow = {
  id: string;
  at: Date;
  kind: LedgerKind;
  from: Book;
  to: Book;
  amountMicros: number;
  messages: number;
  reference: string;
};

type LedgerFilter = { readonly accountId: number; readonly kind: LedgerKind | null };

const inLedger = ({ accountId, kind }: LedgerFilter) => sql`
  FROM ledger_entry WHERE account_id = ${accountId} AND (${kind}::text IS NULL OR kind = ${kind})`;

/** The newest first: ids are in the order of time. */
export async function listLedger(
  db: Db,
  filter: LedgerFilter & { readonly limit: number; readonly offset: number },
): Promise<LedgerRow[]> {
  return many(
    db,
    sql`SELECT id, created_at AS at, kind, from_book AS "from", to_book AS "to", amount_micros AS "amountMicros",
               messages, reference
        ${inLedger(filter)} ORDER BY id DESC LIMIT ${filter.limit} OFFSET ${filter.offset}`,
  );
}

export async function countLedger(db: Db, filter: LedgerFilter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${inLedger(filter)}`)).total;
}

/**
 * What could be spent after this entry and after those of its account that are older: what can be spent now without
 * what newer ones moved. One statement, so that both are of one instant.
 */
export async function findAvailableAfter(
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
