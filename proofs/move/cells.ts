import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { openDirectory } from '../../src/cells/directory.ts';
import { attachEmbedded } from '../../src/core/db/embedded.ts';
import { ensureCell, MIGRATIONS_DIR, migrate } from '../../src/core/db/migrate.ts';
import { createPool } from '../../src/core/db/pool.ts';
import { silentLog } from '../../src/core/log.ts';
import type { Run } from '../lib/proof.ts';
import { openStage, type Stage, type StageOptions } from '../lib/stage.ts';

/** Two cells, each with its own database server, carrier and processes, and the directory in front of them. */
export type Cells = AsyncDisposable & { readonly stages: readonly [Stage, Stage]; readonly directory: Pool };

/** Starts two cells, without workers. */
export async function openCells(run: Run, options: StageOptions): Promise<Cells> {
  await using opened = new AsyncDisposableStack();
  const urls: string[] = [];
  for (const cell of [0, 1]) urls.push(await startDatabase(run, opened, cell));
  const [first = ''] = urls;
  const directoryUrl = await createDatabase(first, 'directory');
  const environment = {
    ...options.environment,
    CELL_DATABASES: urls.map((url, cell) => `${cell}=${url}`).join(' '),
    DIRECTORY_URL: directoryUrl,
  };
  const openCell = async (cell: number): Promise<Stage> =>
    opened.use(
      await openStage(
        { ...run, folder: folderOf(run, cell), databaseUrl: urls[cell] ?? '' },
        { ...options, gateway: 'api', environment: { ...environment, CELL: String(cell) } },
      ),
    );
  const stages = [await openCell(0), await openCell(1)] as const;
  const directory = await openDirectory(directoryUrl, silentLog);
  opened.defer(() => directory.end());
  const all = opened.move();
  return { stages, directory, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

const folderOf = ({ folder }: Run, cell: number): string => join(folder, `cell${cell}`);

/** Starts the database server of a cell, and makes its database that of the cell. Returns its URL. */
async function startDatabase(run: Run, opened: AsyncDisposableStack, cell: number): Promise<string> {
  const folder = folderOf(run, cell);
  await mkdir(folder, { recursive: true });
  const server = await attachEmbedded({ dataDir: join(folder, 'database'), log: silentLog });
  opened.defer(server.release);
  const pool = createPool(server.connectionString, { max: 1, applicationName: 'proof', log: silentLog });
  await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
  await ensureCell(pool, cell);
  await pool.end();
  return server.connectionString;
}

/** Creates another database on the server of `url`. Returns its URL. */
async function createDatabase(url: string, name: string): Promise<string> {
  const pool = createPool(url, { max: 1, applicationName: 'proof', log: silentLog });
  await pool.query(`CREATE DATABASE ${name}`);
  await pool.end();
  const other = new URL(url);
  other.pathname = `/${name}`;
  return other.href;
}
