import type { Pool } from 'pg';
import { CURRENT_SCHEMA } from './current-schema.ts';
import { exec, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';
import { transaction } from './transaction.ts';

/** How many ids a cell has. With 8,191 cells the largest id is below 2^53, which a number of JavaScript holds exactly. */
const IDS_PER_CELL = 2 ** 40;

/** Returns the cell in which an id was made. */
export const cellOfId = (id: number): number => Math.floor(id / IDS_PER_CELL);

/**
 * Makes a new database that of a cell, and lets the ids of all its tables begin at `cell` * 2^40: the ids of two cells
 * never meet, so that an account can move from one to the other. A database that already has accounts is that of cell 0.
 * Call it after the migrations, since new tables bring sequences. Concurrent calls wait for each other.
 *
 * Throws a StartupError, and changes nothing, if the database belongs to another cell.
 */
export async function ensureCell(pool: Pool, cell: number): Promise<void> {
  await transaction(pool, async (tx) => {
    await exec(
      tx,
      sql`INSERT INTO cell (number) SELECT CASE WHEN EXISTS (SELECT FROM account) THEN 0 ELSE ${cell} END
          ON CONFLICT DO NOTHING`,
    );
    const { number } = await one<{ number: number }>(tx, sql`SELECT number FROM cell FOR UPDATE`);
    if (number !== cell)
      throw new StartupError(
        `The database belongs to cell ${number}, and CELL is ${cell}: set CELL=${number}, or use another database.`,
      );
    const before = cell * IDS_PER_CELL;
    // Not transactional, and so only for sequences that still are before the ids of the cell.
    await exec(
      tx,
      sql`SELECT setval(s.seqrelid, ${before}::bigint) FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
          WHERE c.relnamespace = ${CURRENT_SCHEMA}
            AND coalesce(pg_sequence_last_value(s.seqrelid), 0) < ${before}::bigint`,
    );
  });
}
