import type { Client, Pool } from 'pg';
import { type Away, listAway } from '../identity/accounts/away.ts';
import { createPartitions, listEndedDays } from '../platform/db/partitions.ts';
import { type Db, exec, maybeOne, one, raw, sql } from '../platform/db/query.ts';
import { setStatementTimeoutMinutes, transaction } from '../platform/db/transaction.ts';
import { AppError } from '../platform/errors.ts';
import {
  type Cell,
  type ConnectionIds,
  copyTable,
  deleteAccountRows,
  findMoney,
  isCopied,
  listTables,
} from './copy.ts';
import { updateCell } from './directory.ts';
import { hold, release, resume } from './hold.ts';

/** The two cells of a move, and the directory in front of them. */
type Ends<C> = { readonly source: C; readonly target: C; readonly directory: Pool };
type Move = Ends<Cell> & {
  readonly accountId: number;
  readonly ids: ConnectionIds;
  /** Called at each step. */
  readonly onStep: (step: string) => void;
};

/** `heldMs` is how long the account was not served; null when an earlier run of the command had ended its service. */
export type Moved = { readonly rows: number; readonly heldMs: number | null };

const conflict = (message: string): AppError => new AppError('conflict', { message });

export const findAway = async (db: Db, accountId: number): Promise<Away | undefined> =>
  (await listAway(db)).find((away) => away.accountId === accountId);

/**
 * Moves an account from one cell to another, whose connections, routes and prices must fit (`listObstacles`), while it
 * is held. The commit of the copy in the target decides: before it the account belongs to the source, and is served
 * there again if anything fails; after it, to the target. If the process dies before it has decided, `settle` does.
 */
export async function moveAccount(move: Move): Promise<Moved> {
  const { source, target, directory, accountId } = move;
  const ends = { source: source.pool, target: target.pool, directory };
  const before = await findAway(source.pool, accountId);
  if (before && before.cell !== target.number)
    throw conflict(`The account is in cell ${before.cell}, or on its way there`);
  if (before?.state === 'moved' || (before && (await settle(ends, before)))) return { rows: 0, heldMs: null };
  await createPartitions(target.pool, await listEndedDays(source.pool, new Date()));
  await using opened = new AsyncDisposableStack();
  // Also ends open transactions.
  const open = async (cell: Cell) =>
    opened.adopt(await cell.openSession(), (client) => client.end().catch(() => undefined));
  const [from, to] = [await open(source), await open(target)];
  await to.query('BEGIN');
  if (!(await tryLock(to, accountId))) throw conflict('Another process moves the account: try again in a minute');
  const beganAt = performance.now();
  let rows = 0;
  try {
    rows = await holdAndCopy(move, from, to);
  } catch (error) {
    await to.end().catch(() => undefined);
    await from.end().catch(() => undefined);
    const held = await findAway(source.pool, accountId);
    if (held?.cell !== target.number || !(await settle(ends, held))) throw error;
  }
  return { rows, heldMs: Math.round(performance.now() - beganAt) };
}

async function holdAndCopy(move: Move, from: Client, to: Client): Promise<number> {
  const { source, target, directory, accountId, onStep } = move;
  onStep('holding');
  await hold(source.pool, { accountId, cell: target.number });
  onStep('copying');
  await from.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const held = sql`SELECT moves FROM account WHERE id = ${accountId} AND away = 'held' FOR NO KEY UPDATE`;
  const row = await maybeOne<{ moves: number }>(from, held);
  if (!row) throw conflict('The move was undone');
  const rows = await copyAccount(from, to, move);
  onStep('switching');
  await commit(to);
  await updateCell(directory, { accountId, cell: target.number, moves: row.moves + 1 });
  await leave(from, accountId);
  await commit(from);
  return rows;
}

async function commit(session: Client): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
}

/**
 * Copies all rows of an account in one pass, starts its work in the target when that commits, and compares its money.
 */
async function copyAccount(from: Client, to: Client, { accountId, ids }: Move): Promise<number> {
  if (await maybeOne(to, sql`SELECT FROM account WHERE id = ${accountId} AND away IS DISTINCT FROM 'moved'`))
    throw conflict('The target already serves an account with this id');
  const tables = await listTables(from);
  await deleteAccountRows(to, tables, accountId);
  let rows = 0;
  for (const table of tables.filter(isCopied)) rows += await copyTable(from, to, { table, accountId, ids });
  await resume(to, { accountId, ids });
  const [here, there] = [await findMoney(from, accountId), await findMoney(to, accountId)];
  if (here !== there) throw new Error(`The copy of the credit differs: "${here}" in the source, "${there}" there.`);
  const { at } = await one<{ at: string }>(from, sql`SELECT done_to::text AS at FROM expiry_progress`);
  await exec(to, sql`UPDATE expiry_progress SET done_to = least(done_to, ${at}::timestamptz)`);
  return rows;
}

/** Marks a held account as moved, and deletes its pending work: that waits in the target. The other rows stay. */
async function leave(tx: Db, accountId: number): Promise<void> {
  if ((await exec(tx, sql`UPDATE account SET away = 'moved' WHERE id = ${accountId} AND away = 'held'`)) === 0) return;
  for (const table of ['account_work', 'dispatch_chunk'])
    await exec(tx, sql`DELETE FROM ${raw(table)} WHERE account_id = ${accountId}`);
}

/**
 * Decides a move whose process has died: a held account whose copy is in the target has moved, and any other one is
 * served in the source again. Returns true if it has moved; null, without deciding, while another process moves it.
 */
export async function settle({ source, target, directory }: Ends<Pool>, away: Away): Promise<boolean | null> {
  const { accountId, cell, moves } = away;
  const hasMoved = await transaction(target, async (tx) => {
    // While this has the lock, no copy is committed that was begun before.
    if (!(await tryLock(tx, accountId))) return null;
    if (await knowsNewer(tx, away)) return true;
    await transaction(source, async (own) => {
      await release(own, accountId);
      // The account is locked in the source now. This fails when the lock in the target was lost meanwhile.
      if (await knowsNewer(tx, away)) throw conflict('The account was copied meanwhile');
    });
    return false;
  });
  if (!hasMoved) return hasMoved;
  await updateCell(directory, { accountId, cell, moves: moves + 1 });
  await transaction(source, (tx) => leave(tx, accountId));
  return true;
}

const knowsNewer = async (db: Db, { accountId, moves }: Away): Promise<boolean> =>
  (await maybeOne(db, sql`SELECT FROM account WHERE id = ${accountId} AND moves > ${moves}`)) !== undefined;

/** Keeps other moves of the account to this database out until the transaction ends; false when there is one. */
async function tryLock(tx: Db, accountId: number): Promise<boolean> {
  // Any number, but the same in every release.
  const lock = sql`SELECT pg_try_advisory_xact_lock(7306501, hashint8(${accountId})) AS taken`;
  return (await one<{ taken: boolean }>(tx, lock)).taken;
}

/**
 * Deletes the rows that a moved account has left here, by which late receipts are passed on. Errors: 409 when it has
 * not moved, when rows still wait to be passed on, and when the target does not have it, as after a restore.
 */
export async function clearMoved({ source, target }: Omit<Ends<Pool>, 'directory'>, accountId: number): Promise<void> {
  const away = await findAway(source, accountId);
  if (away?.state !== 'moved') throw conflict('The account has not moved');
  if (!(await knowsNewer(target, away)))
    throw conflict(`Cell ${away.cell} does not have the account: was it restored?`);
  if (await maybeOne(source, sql`SELECT FROM passed_on WHERE account_id = ${accountId} LIMIT 1`))
    throw conflict('Receipts or inbound messages wait to be passed on: is a worker running?');
  await transaction(source, async (tx) => {
    await setStatementTimeoutMinutes(tx, 60);
    await deleteAccountRows(tx, await listTables(tx), accountId);
  });
}
