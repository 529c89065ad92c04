import type { Pool } from 'pg';
import { CURRENT_SCHEMA } from './current-schema.ts';
import { exec, one, sql } from './query.ts';
import { StartupError } from './startup-error.ts';
import { transaction } from './transaction.ts';

/** Number of ids of a cell. With 8,191 cells the largest id is below 2^53, which a JavaScript number holds exactly. */
const IDS_PER_CELL = 2 ** 40;

/** Returns the cell in which an id was made. */
export const cellOfId = (id: number): number => Math.floor(id / IDS_PER_CELL);

/**
 * Assigns a new database to a cell, and lets the ids of all its tables begin at `cell` * 2^40: the ids of two cells
 * never meet, so that an account can move from one to the other. A database that already has accounts belongs to cell
 * 0. Call it after the migrations, since new tables bring sequences. Concurrent calls wait for each other. If there is
 * nothing to do it only reads: `doctor` must respond while commits wait for a standby.
 *
 * Throws a StartupError, and changes nothing, if the database belongs to another cell.
 */
export async function ensureCell(pool: Pool, cell: number): Promise<void> {
  if (await isPrepared(pool, cell)) return;
  await transaction(pool, async (tx) => {
    await exec(
      tx,
      sql`INSERT INTO cell (number) SELECT CASE WHEN EXISTS (SELECT FROM account) THEN 0 ELSE ${cell} END
          ON CONFLICT DO NOTHING`,
    );
    const { number } = await one<{ number: number }>(tx, sql`SELECT number FROM cell FOR UPDATE`);
    if (number !== cell)
      throw new StartupError(
        `The database belongs to cell ${number}, but CELL is ${cell}: set CELL=${number}, or use another database.`,
      );
    // Not transactional, and therefore only for sequences that have not reached the ids of the cell.
    await exec(tx, sql`SELECT setval(seqrelid, ${firstIdOf(cell)}::bigint) FROM ${sequencesBefore(cell)}`);
  });
}

/** Returns true if a database belongs to a cell, with all its sequences. */
const isPrepared = async (pool: Pool, cell: number): Promise<boolean> =>
  (
    await one<{ prepared: boolean }>(
      pool,
      sql`SELECT EXISTS (SELECT FROM cell WHERE number = ${cell})
                 AND NOT EXISTS (SELECT FROM ${sequencesBefore(cell)}) AS prepared`,
    )
  ).prepared;

/** The sequences that have not reached the ids of a cell. */
const sequencesBefore = (cell: number) => sql`(
  SELECT s.seqrelid FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
  WHERE c.relnamespace = ${CURRENT_SCHEMA}
    AND coalesce(pg_sequence_last_value(s.seqrelid), 0) < ${firstIdOf(cell)}::bigint) AS behind`;

const firstIdOf = (cell: number): number => cell * IDS_PER_CELL;
