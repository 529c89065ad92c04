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
 * Opens the database of the directory, one of its own, and applies its pending migrations (db/directory). The caller ends
 * the pool. Throws a StartupError that names DIRECTORY_URL when a person has to correct something.
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

/** Until then, the former cell of an account answers 503, so that its clients come again. */
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

/** Where a request goes: to the number of a cell; to `any` that refuses what needs credentials; `later`: nobody can say now. */
export type Destination = number | 'any' | 'later';

/** About 100 bytes each. The oldest ones are forgotten first, and asked for again. */
const MAX_KNOWN = 500_000;
/** A user may be deleted and made again in another account; keys and tokens never change hands. */
const NAMES_MS = 60_000;

/**
 * Creates the directory. It knows nothing about a caller at first: new callers are looked up in all cells, and known
 * from then on by heart, as what never changes: the account, not the cell. So nothing has to be published to the
 * directory, a key works from its first use on, and strangers, who are never remembered, displace nobody.
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
    /** How many callers are known by heart. */
    knownCount: () => known.size,
    /** Finds where a request goes by whom it names. */
    async find(named: Named): Promise<Destination> {
      if (named.kind === 'nobody') return 'any';
      const account = named.kind === 'account' ? named.accountId : await accountOf(named);
      if (account === 'nobody') return 'any';
      if (account === 'unsure') return 'later';
      const cell = placements.find(account);
      // An id that nobody has made, in a link that nobody has signed.
      return cells.has(cell) ? cell : 'any';
    },
  };
}
export type Directory = ReturnType<typeof createDirectory>;
