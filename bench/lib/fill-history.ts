import type pg from 'pg';
import { partitionName } from '../../src/core/db/partitions.ts';
import { DAY_MS } from '../../src/core/time.ts';

const ROWS_PER_STATEMENT = 250_000;

/** Values of columns that differ between the copies. */
const OWN: Readonly<Record<string, string>> = {
  id: 'made.id',
  destination: "'+39333' || lpad(made.n::text, 7, '0')",
  carrier_id: 'md5(made.id::text)',
  client_id: 'NULL',
  status: `CASE WHEN made.n % 500000 = 7 THEN 5 WHEN made.n % 50000 = 5 THEN 4 WHEN made.n % 1000 = 2 THEN 6
           WHEN made.n % 20 = 1 THEN 2 ELSE 3 END`,
};

/**
 * Fill level of the pages of states in percent, once the rows have their receipts: 19 on each, as real traffic leaves
 * them. On pages that are filled as for a first insert (30 %) there is room for one more of the shorter new rows; after
 * a VACUUM these went to 20,000 different old pages, which wrote 3.5 kB of WAL for each message instead of 1.0.
 */
const FULL_PERCENT = 70;
const FILL_PERCENT = 30;

type Day = { readonly accountId: number; readonly day: Date; readonly messages: number };

/**
 * Stores messages and their states, as copies of a message that was delivered, spread evenly over a day (or what there is
 * of it until now). 19 out of 20 are delivered, one in a thousand undeliverable, one in 50,000 expired, one in 500,000
 * deleted.
 */
export async function fillHistory(db: pg.Client, { accountId, day, messages }: Day): Promise<void> {
  const rest = Date.now() - day.getTime();
  const spanMs = Math.min(DAY_MS, rest) / messages;
  const states = partitionName('message_state', day);
  await db.query(`ALTER TABLE ${states} SET (fillfactor = ${FULL_PERCENT})`);
  for (let first = 0; first < messages; first += ROWS_PER_STATEMENT) {
    const last = Math.min(first + ROWS_PER_STATEMENT, messages) - 1;
    await db.query(
      `WITH made AS MATERIALIZED (
         SELECT uuidv7((n * $1::float8 - $2::float8) * interval '1 millisecond') AS id, n FROM generate_series($3::int, $4::int) AS n),
       template AS (SELECT id FROM message_state WHERE account_id = $5 AND status = 3 ORDER BY id DESC LIMIT 1),
       messages AS (${await copyOf(db, 'message')})
       ${await copyOf(db, 'message_state')}`,
      [spanMs, Date.now() - day.getTime(), first, last, accountId],
    );
  }
  await db.query(`ALTER TABLE ${states} SET (fillfactor = ${FILL_PERCENT})`);
}

/** Inserts a copy of the template for each id, with all columns that are stored. */
async function copyOf(db: pg.Client, table: string): Promise<string> {
  const { rows } = await db.query<{ name: string }>(
    `SELECT quote_ident(attname) AS name FROM pg_attribute
     WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`,
    [table],
  );
  const columns = rows.map(({ name }) => name);
  return `INSERT INTO ${table} (${columns.join(', ')})
    SELECT ${columns.map((name) => OWN[name] ?? `copied.${name}`).join(', ')}
    FROM made CROSS JOIN (
      SELECT t.* FROM ${table} t JOIN template USING (id) WHERE t.account_id = $5) AS copied`;
}
