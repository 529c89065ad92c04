import { type Db, many, one, type Sql, sql } from '../../../platform/db/query.ts';
import { as, columns, type RowOf } from '../../../platform/db/select.ts';
import { isOwnerAlive } from '../../../platform/db/worker-session.ts';

const BIND = columns({
  id: as<number>('b.id'),
  accountId: as<number>('b.account_id'),
  account: as<string>('a.name'),
  systemId: as<string>('c.system_id'),
  name: as<string>('c.name'),
  mode: as<'transmitter' | 'receiver' | 'transceiver'>('b.mode'),
  address: as<string>('b.address'),
  version: as<number>('b.interface_version'),
  boundAt: as<Date>('b.bound_at'),
  window: as<number>('c.window_size'),
  submits: as<number>('b.submits'),
  throttled: as<number>('b.throttled'),
  perSecond: as<number>('b.per_second'),
  unanswered: as<number>('b.unanswered'),
  /** Receipts that wait for any bind of its credential. */
  waiting: as<number>(`(SELECT count(*) FROM smpp_outbox o
    WHERE o.account_id = b.account_id AND o.credential_id = b.credential_id)`),
});
/** An open bind of a customer. */
export type BindRow = RowOf<typeof BIND>;

type Filter = { readonly accountId: number | null };

const binds = ({ accountId }: Filter): Sql => sql`
  FROM smpp_bind b JOIN account a ON a.id = b.account_id
  JOIN smpp_credential c ON c.account_id = b.account_id AND c.id = b.credential_id
  WHERE (${accountId}::bigint IS NULL OR b.account_id = ${accountId}) AND ${isOwnerAlive(sql`b.owner`)}`;

/** Lists a page of the open binds of customers, the latest first. */
export const listBinds = (
  db: Db,
  { limit, offset, ...filter }: Filter & { readonly limit: number; readonly offset: number },
): Promise<BindRow[]> =>
  many(db, sql`SELECT ${BIND} ${binds(filter)} ORDER BY b.id DESC LIMIT ${limit} OFFSET ${offset}`);

/** Counts the binds that `listBinds` lists. */
export async function countBinds(db: Db, filter: Filter): Promise<number> {
  return (await one<{ total: number }>(db, sql`SELECT count(*) AS total ${binds(filter)}`)).total;
}
