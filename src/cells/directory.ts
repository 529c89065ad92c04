import { fileURLToPath } from 'node:url';
import type { Pool } from 'pg';
import { cellOfId } from '../platform/db/cell.ts';
import { migrate } from '../platform/db/migrate.ts';
import { createPool } from '../platform/db/pool.ts';
import { type Db, exec, many, sql } from '../platform/db/query.ts';
import { waitForPrimary } from '../platform/db/servers.ts';
import { explainDatabaseError } from '../platform/db/startup-error.ts';
import { startLoop } from '../platform/lib/background/loop.ts';
import type { Log } from '../platform/lib/log.ts';
import type { Caller, Cells, Named } from './callers.ts';

const DIRECTORY_MIGRATIONS = fileURLToPath(new URL('../../db/directory', import.meta.url));

/**
 * Opens the separate database of the directory and applies its pending migrations (db/directory). The caller ends the
 * pool. Throws a StartupError that names DIRECTORY_URL if the operator has to correct something.
 */
export async function openDirectory(connectionString: string, log: Log): Promise<Pool> {
  const pool = createPool(connectionString, { max: 4, applicationName: 'heliograph directory', log });
  try {
    await waitForPrimary(connectionString);
    await migrate(pool, { dir: DIRECTORY_MIGRATIONS, log, hasTenants: false });
    return pool;
  } catch (error) {
    await pool.end();
    throw explainDatabaseError(error, 'DIRECTORY_URL');
  }
}

/** Sends the requests of an account that has moved `moves` times to a cell, unless it has moved on since. */
export const updateCell = (db: Db, row: { accountId: number; cell: number; moves: number }): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO account_cell AS c (account_id, cell, moves) VALUES (${row.accountId}, ${row.cell}, ${row.moves})
        ON CONFLICT (account_id) DO UPDATE SET cell = excluded.cell, moves = excluded.moves WHERE c.moves < excluded.moves`,
  );

/** Lists the cells of the accounts that have moved. */
export async function listMovedAccounts(db: Db): Promise<Map<number, number>> {
  const rows = await many<{ id: number; cell: number }>(db, sql`SELECT account_id AS id, cell FROM account_cell`);
  return new Map(rows.map(({ id, cell }) => [id, cell]));
}

/** Interval of loading: until then, the former cell of an account returns 503, so that its clients retry. */
const RELOAD_MS = 500;

/** Loads the accounts that have moved, and follows their changes. */
export async function followPlacements(pool: Pool, log: Log) {
  let placed = await listMovedAccounts(pool);
  const reload = async (): Promise<number> => {
    placed = await listMovedAccounts(pool);
    return RELOAD_MS;
  };
  const { stop } = startLoop('moved accounts', reload, log);
  return { find: (accountId: number): number => placed.get(accountId) ?? cellOfId(accountId), close: stop };
}

/**
 * Destination of a request: the number of a cell; `any`: any cell, which denies a request that needs credentials;
 * `later`: not known at the moment.
 */
export type Destination = number | 'any' | 'later';

/** Number of cached callers, of about 100 bytes each. The oldest ones are forgotten first, and looked up again. */
const MAX_KNOWN = 500_000;
/** A user may be deleted and created again in another account; keys and tokens never change accounts. */
const NAMES_MS = 60_000;

/**
 * Creates the directory. At first it knows no callers: a new caller is looked up in all cells and its account, which
 * never changes, is then cached; the cell is not. So nothing has to be published to the directory, a key works from its
 * first use on, and unknown clients, who are never cached, displace no one.
 */
export function createDirectory(cells: Pick<Cells, 'find' | 'has'>, placements: { find(accountId: number): number }) {
  const known = new Map<string, { readonly accountId: number; readonly until: number }>();

  async function accountOf(caller: Caller): Promise<number | 'nobody' | 'unsure'> {
    const key = `${caller.kind} ${caller.id}`;
    const before = known.get(key);
    if (before && performance.now() < before.until) return before.accountId;
    const answer = await cells.find(caller);
    if (answer === 'unsure') return before?.accountId ?? 'unsure';
    known.delete(key);
    if (answer === 'nobody') return 'nobody';
    known.set(key, { accountId: answer, until: caller.kind === 'hash' ? Infinity : performance.now() + NAMES_MS });
    if (known.size > MAX_KNOWN) known.delete(known.keys().next().value ?? '');
    return answer;
  }

  return {
    /** Number of cached callers. */
    knownCount: () => known.size,
    /** Finds the destination of a request by the caller that it names. */
    async find(named: Named): Promise<Destination> {
      if (named.kind === 'nobody') return 'any';
      const account = named.kind === 'account' ? named.accountId : await accountOf(named);
      if (account === 'nobody') return 'any';
      if (account === 'unsure') return 'later';
      const cell = placements.find(account);
      // An id that does not exist, in a link that is not signed.
      return cells.has(cell) ? cell : 'any';
    },
  };
}
export type Directory = ReturnType<typeof createDirectory>;
