import type { Pool } from 'pg';
import { type Cell, openCell } from '../../src/cells/copy.ts';
import { openDirectory } from '../../src/cells/directory.ts';
import { cellTasks } from '../../src/cells/pass-on.ts';
import { ensureCell } from '../../src/core/db/migrate.ts';
import { ensurePartitions } from '../../src/core/db/partitions.ts';
import { silentLog } from '../../src/core/log.ts';
import { receiveIntoInbox } from '../../src/inbox/receive.ts';
import { insertConnection } from '../../src/routing/connection-store.ts';
import { createTestDatabase } from './database.ts';

/** Two cells, a database each, with the ids of the connection `main` in both, and the directory. */
export type TwoCells = AsyncDisposable & {
  /** Cell 0. */
  readonly a: Cell;
  /** Cell 1. */
  readonly b: Cell;
  readonly directory: Pool;
  readonly mainOfA: number;
  readonly mainOfB: number;
  /** Runs each task of a cell once, as its worker does; by default with the databases of both. */
  runTasks(cell: Cell, databases?: ReadonlyMap<number, string>): Promise<void>;
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
    return opened.use(await openCell(number, connectionString, silentLog));
  };
  const [a, b] = [await open(0), await open(1)];
  const { connectionString: directoryUrl } = opened.use(await createTestDatabase({ empty: true }));
  const directory = opened.adopt(await openDirectory(directoryUrl, silentLog), (pool) => pool.end());
  const [mainOfA, mainOfB] = [await addMain(a.pool), await addMain(b.pool)];
  return {
    a,
    b,
    directory,
    mainOfA,
    mainOfB,
    async runTasks({ pool }, databases = urls) {
      const tasks = cellTasks({
        pool,
        cells: { directoryUrl, databases },
        onInbound: receiveIntoInbox,
        log: silentLog,
      });
      try {
        for (const task of tasks) await task.work();
      } finally {
        for (const task of tasks) await task.close?.();
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const addMain = async (pool: Pool): Promise<number> =>
  (await insertConnection(pool, { name: 'main', kind: 'smpp', sandbox: false, settings: {} }))?.id ?? 0;
