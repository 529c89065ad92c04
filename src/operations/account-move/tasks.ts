import type { Pool } from 'pg';
import type { OnInbound } from '../../messaging/inbound/receive.ts';
import { deleteOldSeenIds, hasPassedOn } from '../../messaging/passed-on/sql.ts';
import { transaction } from '../../platform/db/transaction.ts';
import { every, type Task } from '../../platform/lib/background/task.ts';
import type { Config } from '../../platform/config.ts';
import type { Log } from '../../platform/lib/log.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../platform/lib/time.ts';
import { openDirectory } from '../directory/open.ts';
import { releaseAccount } from '../directory/sql.ts';
import { endAbandonedNotes } from './changes/note.ts';
import { type Cell, openCell } from './cells.ts';
import { completeMove } from './complete.ts';
import { thaw } from './leave.ts';
import { passOn } from './pass-on.ts';
import { removeArriving } from './move.ts';
import {
  findMove,
  listCellsLeftFor,
  listOldArrivals,
  listOverdueMoves,
  listUnarrivedMoves,
  type Move,
  tryMoveLockOfTransaction,
} from './sql.ts';

export type MoveTaskDeps = {
  readonly pool: Pool;
  /** The databases of the cells, and of the directory if there is one. */
  readonly cells: Config['cells'];
  readonly onInbound: OnInbound;
  readonly log: Log;
};

/** A cell may still pass something on for this long after it was taken and its commit there was lost. */
const SEEN_DAYS = 30;
/** A command marks an account in the source within a moment after its copy ahead, or has been killed. */
const ABANDONED_SECONDS = 60;

/**
 * What the cell that an account leaves does for it when the command does not: it serves it again when the move takes too
 * long, completes a move that was decided, and passes on what carriers still send here.
 */
export function moveTasks({ pool, cells: settings, onInbound, log }: MoveTaskDeps): Task[] {
  const cells = createCells(settings.databases, log);
  const directory = createDirectory(settings.directoryUrl, log);
  const inCell = async (number: number, work: (cell: Cell) => Promise<void>): Promise<void> => {
    const cell = await cells.open(number);
    if (cell) await work(cell);
    else log.error({ cell: number }, 'accounts have left for a cell that CELL_DATABASES does not name: add it');
  };
  return [
    {
      name: 'account moves',
      work: every(SECOND_MS, async () => {
        const thawed = await thawOverdue(pool, directory.open, log);
        await forAll(await listUnarrivedMoves(pool), (move) =>
          inCell(move.cell, async (target) =>
            completeMove({ source: pool, target: target.pool, directory: await directory.open() }, move),
          ),
        );
        await forAll(thawed, (move) => inCell(move.cell, (target) => removeCopy(pool, target.pool, move)));
      }),
    },
    {
      name: 'abandoned copies',
      work: every(MINUTE_MS, async () =>
        forAll(await listOldArrivals(pool, { seconds: ABANDONED_SECONDS }), (move) =>
          inCell(move.cell, (source) => removeCopy(source.pool, pool, move)),
        ),
      ),
    },
    { name: 'abandoned notes', work: every(MINUTE_MS, () => endAbandonedNotes(pool)) },
    {
      name: 'passing on',
      work: async () => {
        if (!(await hasPassedOn(pool, { accountId: null }))) return SECOND_MS;
        let count = 0;
        const add = async (target: Pool, cell: number | null): Promise<void> => {
          count += await passOn({ source: pool, target, cell, onInbound });
        };
        await forAll([null, ...(await listCellsLeftFor(pool))], (number) =>
          number === null ? add(pool, null) : inCell(number, (cell) => add(cell.pool, number)),
        );
        return count > 0 ? 0 : SECOND_MS;
      },
      close: async () => {
        await Promise.all([cells.close(), directory.close()]);
      },
    },
    {
      name: 'old passed-on ids',
      work: every(HOUR_MS, () => deleteOldSeenIds(pool, { days: SEEN_DAYS })),
    },
  ];
}

/** Does `work` for all items at once, so that a cell that is away does not hold up the others; then throws its error. */
async function forAll<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const results = await Promise.allSettled(items.map(work));
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

async function thawOverdue(pool: Pool, open: () => Promise<Pool | null>, log: Log): Promise<readonly Move[]> {
  const thawed = await transaction(pool, async (tx) => {
    const moves = await listOverdueMoves(tx);
    for (const move of moves) await thaw(tx, move);
    return moves;
  });
  for (const { accountId, state } of thawed) {
    const directory = await open();
    if (directory) await releaseAccount(directory, { accountId });
    log.warn({ accountId, state }, 'the move of an account took too long: it is served here again');
  }
  return thawed;
}

/**
 * Deletes what a move that was given up has left in the target, unless a command moves the account again, or the source knows
 * of a move: then it is completed from there, or given up there first.
 */
const removeCopy = (source: Pool, target: Pool, { accountId }: Move): Promise<void> =>
  transaction(source, async (tx) => {
    if ((await tryMoveLockOfTransaction(tx, { accountId })) && !(await findMove(tx, { accountId })))
      await removeArriving(target, accountId);
  });

/** Opens the databases of other cells when they are needed, and keeps them open. */
function createCells(urls: ReadonlyMap<number, string>, log: Log) {
  const open = new Map<number, Promise<Cell>>();
  return {
    async open(number: number): Promise<Cell | undefined> {
      const url = urls.get(number);
      if (url === undefined) return undefined;
      const cell = open.get(number) ?? openCell(number, url, log);
      open.set(number, cell);
      cell.catch(() => open.delete(number));
      return cell;
    },
    async close(): Promise<void> {
      for (const cell of await Promise.allSettled(open.values()))
        if (cell.status === 'fulfilled') await cell.value.close();
    },
  };
}

/** Opens the database of the directory when it is needed first, and keeps it open. */
function createDirectory(url: string | undefined, log: Log) {
  let pool: Promise<Pool> | null = null;
  return {
    async open(): Promise<Pool | null> {
      if (url === undefined) return null;
      pool ??= openDirectory(url, log);
      pool.catch(() => {
        pool = null;
      });
      return pool;
    },
    async close(): Promise<void> {
      await (await pool?.catch(() => null))?.end();
    },
  };
}
