import type { Pool } from 'pg';
import { type OnInbound, receivePassedOn } from '../../messaging/inbound/receive.ts';
import { claimPassedOn, deletePassedOn, insertSeenIds, type PassedOn } from '../../messaging/passed-on/sql.ts';
import { insertPassedReceipts, notifyReceipts } from '../../messaging/receipts/sql.ts';
import { type Db, many, sql } from '../../platform/db/query.ts';
import { transaction } from '../../platform/db/transaction.ts';

const MAX_ROWS = 500;

export type PassOn = {
  readonly source: Pool;
  /** The database of the cell that the accounts have left for; `cell` is null when that is the source, where they are back. */
  readonly target: Pool;
  readonly cell: number | null;
  readonly onInbound: OnInbound;
};

/**
 * Passes receipts and inbound messages on to where their accounts are. The target has them before they are deleted here, and
 * remembers which it has taken, so that each is taken once whatever is killed.
 *
 * @returns the number of rows
 */
export function passOn({ source, target, cell, onInbound }: PassOn): Promise<number> {
  return transaction(source, async (tx) => {
    const rows = await claimPassedOn(tx, { cell, limit: MAX_ROWS });
    if (rows.length === 0) return 0;
    await transaction(target, (there) => take(there, rows, onInbound));
    await deletePassedOn(tx, { ids: rows.map(({ id }) => id) });
    return rows.length;
  });
}

async function take(tx: Db, rows: readonly PassedOn[], onInbound: OnInbound): Promise<void> {
  const fresh = await insertSeenIds(tx, { ids: rows.map(({ id }) => id) });
  const connections = await listConnectionIds(tx);
  const news = rows
    .filter(({ id }) => fresh.has(id))
    .map(({ connection, ...row }) => ({ ...row, connectionId: connectionOf(connections, connection) }));
  const receipts = news.filter(({ kind }) => kind === 'receipt');
  await insertPassedReceipts(
    tx,
    receipts.map(({ connectionId, content }) => ({ connectionId, receipts: content })),
  );
  if (receipts.length > 0) await notifyReceipts(tx, 'stored');
  await receivePassedOn(
    tx,
    onInbound,
    news.filter(({ kind }) => kind === 'inbound'),
  );
}

async function listConnectionIds(db: Db): Promise<Map<string, number>> {
  const rows = await many<{ id: number; name: string }>(db, sql`SELECT id, name FROM connection`);
  return new Map(rows.map(({ id, name }) => [name, id]));
}

function connectionOf(ids: ReadonlyMap<string, number>, name: string): number {
  const id = ids.get(name);
  if (id === undefined) throw new Error(`the cell of the account has no connection ${name}: add it there`);
  return id;
}
