import type { Pool } from 'pg';
import { receiveIntoInbox } from '../../src/engagement/inbox/receive-inbound.ts';
import { insertConnection } from '../../src/network/connections/sql.ts';
import type { Between } from '../../src/operations/account-move/between.ts';
import { carryOver } from '../../src/operations/account-move/carry-over.ts';
import { type Cell, openCell } from '../../src/operations/account-move/cells.ts';
import { beginNotes } from '../../src/operations/account-move/changes/note.ts';
import { copyAhead } from '../../src/operations/account-move/copy-ahead.ts';
import { moveTasks } from '../../src/operations/account-move/tasks.ts';
import { ensureCell } from '../../src/platform/db/cell.ts';
import { ensurePartitions } from '../../src/platform/db/partitions.ts';
import { silentLog } from '../../src/platform/lib/log.ts';
import { createTestDatabase } from './database.ts';

/** Two cells, a database each, with the ids of the connection `main` in both. */
export type TwoCells = AsyncDisposable & {
  /** Cell 0. */
  readonly a: Cell;
  /** Cell 1. */
  readonly b: Cell;
  /** The database of each cell by its number; a test may add cells. */
  readonly urls: Map<number, string>;
  readonly mainOfA: number;
  readonly mainOfB: number;
};

/** Opens two cells on new databases, which are dropped when it is disposed of. */
export async function openTwoCells(): Promise<TwoCells> {
  const opened = new AsyncDisposableStack();
  const urls = new Map<number, string>();
  const open = async (number: number): Promise<Cell> => {
    const { pool, connectionString } = opened.use(await createTestDatabase());
    await ensurePartitions(pool, new Date());
    await ensureCell(pool, number);
    urls.set(number, connectionString);
    const cell = await openCell(number, connectionString, silentLog);
    opened.defer(cell.close);
    return cell;
  };
  const [a, b] = [await open(0), await open(1)];
  const [mainOfA, mainOfB] = [await addMain(a.pool), await addMain(b.pool)];
  return { a, b, urls, mainOfA, mainOfB, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const addMain = async (pool: Pool): Promise<number> =>
  (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;

/** Copies a leaving account to the target as a whole, and ends it in the source. */
export async function carryWhole(move: Between): Promise<void> {
  const notes = await beginNotes(move.source.pool, move);
  const { copy } = await copyAhead(move);
  await carryOver({ ...move, notes, copy });
}

/** Runs each task of the moves once, as the worker of a cell does. */
export async function runMoveTasks(
  { pool }: Cell,
  { databases, directoryUrl }: { databases: ReadonlyMap<number, string>; directoryUrl?: string },
): Promise<void> {
  const tasks = moveTasks({ pool, cells: { directoryUrl, databases }, onInbound: receiveIntoInbox, log: silentLog });
  try {
    for (const task of tasks) await task.work();
  } finally {
    for (const task of tasks) await task.close?.();
  }
}
