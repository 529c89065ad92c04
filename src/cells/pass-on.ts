import type { Pool } from 'pg';
import { type OnInbound, receivePassedOn } from '../../messaging/inbound/receive.ts';
import {
  claimPassedOn,
  deletePassedOn,
  insertSeenIds,
  listUnknownConnections,
  type PassedOn,
} from '../../messaging/passed-on/sql.ts';
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
 * remembers which it has taken, so that each is taken once whatever is killed. What came over a connection that the target
 * does not have stays here and holds up nothing else: once only such rows are left, this rejects and names the connections.
 *
 * @returns the number of rows
 */
export async function passOn({ source, target, cell, onInbound }: PassOn): Promise<number> {
  const ids = await listConnectionIds(target);
  const connections = [...ids.keys()];
  const count = await transaction(source, async (tx) => {
    const rows = await claimPassedOn(tx, { cell, connections, limit: MAX_ROWS });
    if (rows.length === 0) return 0;
    await transaction(target, (there) => take(there, rows, ids, onInbound));
    await deletePassedOn(tx, { ids: rows.map(({ id }) => id) });
    return rows.length;
  });
  if (count > 0) return count;
  const unknown = await listUnknownConnections(source, { cell, connections });
  if (unknown.length > 0)
    throw new Error(`the cell of the account lacks connections, add them there: ${unknown.join(', ')}`);
  return 0;
}

async function take(
  tx: Db,
  rows: readonly PassedOn[],
  connections: ReadonlyMap<string, number>,
  onInbound: OnInbound,
): Promise<void> {
  const fresh = await insertSeenIds(tx, { ids: rows.map(({ id }) => id) });
  const news = rows
    .filter(({ id }) => fresh.has(id))
    .flatMap(({ connection, ...row }) => {
      const connectionId = connections.get(connection);
      return connectionId === undefined ? [] : [{ ...row, connectionId }];
    });
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
