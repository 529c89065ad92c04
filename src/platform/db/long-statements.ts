import { type Db, exec, sql } from './query.ts';

/**
 * For one transaction over millions of rows: its statements may take this long in place of the minute that every session
 * has (src/platform/db/pool.ts).
 */
export const allowMinutes = (tx: Db, minutes: number): Promise<number> =>
  exec(tx, sql`SELECT set_config('statement_timeout', ${`${minutes}min`}, true)`);
