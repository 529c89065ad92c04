import type { Client } from 'pg';
import { moveAccountFromParked, countOwnedChunks } from '../../network/dispatch/parked/sql.ts';
import type { Cell } from './cells.ts';
import { clearAccount } from './clear.ts';
import { TOO_LATE } from './leave.ts';
import { carryRows, type ConnectionIds, copyRows, fingerprint } from './rows.ts';
import {
  countParcelRows,
  deleteWebhookClaim,
  findExpiryInstant,
  findMoney,
  findMoveForUpdate,
  lockAccountRows,
  markArriving,
  moveExpiryBack,
  moveToLeft,
} from './sql.ts';
import { CARRIED, COPIED } from './tables.ts';

/** The account is not as it must be to leave; nothing has changed. */
export class NotReady extends Error {}

export type CarryOver = {
  readonly source: Cell;
  readonly target: Cell;
  readonly accountId: number;
  readonly ids: ConnectionIds;
};

/** How many rows were copied, and how many were taken along. */
export type CarriedOver = { readonly copied: number; readonly carried: number };

/**
 * Copies a leaving account to the target, and ends it in the source, which decides the move. One transaction on the source
 * takes the rows of its queues, copies what is there as of one moment, and marks the account as left. Before it commits, the
 * transaction on the target is committed, in which the account is complete and not served: should the source not commit, it is
 * as if nothing had happened.
 *
 * Rejects with a `NotReady`, or a serialization failure, when a worker has the account in hand: then it may be repeated.
 */
export async function carryOver(move: CarryOver): Promise<CarriedOver> {
  await using opened = new AsyncDisposableStack();
  const open = async (cell: Cell): Promise<Client> => {
    const session = await cell.openSession();
    // Also ends what is not committed.
    opened.defer(() => session.end().catch(() => undefined));
    return session;
  };
  const [source, target] = [await open(move.source), await open(move.target)];
  await source.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  await target.query('BEGIN');
  const result = await copyAccount(source, target, move);
  await commit(target);
  await commit(source);
  return result;
}

async function commit(session: Client): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
}

async function copyAccount(
  source: Client,
  target: Client,
  { source: { number }, accountId, ids }: CarryOver,
): Promise<CarriedOver> {
  const mark = await findMoveForUpdate(source, { accountId });
  if (mark?.state !== 'leaving') throw new Error(TOO_LATE);
  await lockAccountRows(source, { accountId });
  if ((await countOwnedChunks(source, { accountId })) > 0) throw new NotReady('a worker sends messages of the account');
  await moveAccountFromParked(source, { accountId });
  await clearAccount(target, accountId);
  await markArriving(target, { accountId, cell: number });
  for (const [table, rows] of Object.entries(CARRIED)) await carryRows(source, target, { table, rows, accountId }, ids);
  const carried = await countParcelRows(target, { accountId });
  let copied = 0;
  for (const [table, rows] of Object.entries(COPIED)) {
    await copyRows(source, target, { table, rows, accountId }, ids);
    copied += await compareRows(source, target, table, accountId);
  }
  await compareMoney(source, target, accountId);
  await moveExpiryBack(target, { instant: await findExpiryInstant(source) });
  await deleteWebhookClaim(source, { accountId });
  await moveToLeft(source, { accountId });
  return { copied, carried };
}

/** Returns the number of rows. Throws when source and target differ. */
async function compareRows(source: Client, target: Client, table: string, accountId: number): Promise<number> {
  const reading = { table, rows: COPIED[table] ?? {}, accountId };
  const [here, there] = await Promise.all([fingerprint(source, reading), fingerprint(target, reading)]);
  if (here.count !== there.count || here.keys !== there.keys)
    throw new Error(`The copy of ${table} differs: ${here.count} rows in the source, ${there.count} in the target.`);
  return here.count;
}

async function compareMoney(source: Client, target: Client, accountId: number): Promise<void> {
  const [here, there] = await Promise.all([findMoney(source, { accountId }), findMoney(target, { accountId })]);
  if (here !== there)
    throw new Error(`The copy of the credit differs: "${here}" in the source, "${there}" in the target.`);
}
