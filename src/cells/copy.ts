import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import type { Client, Pool } from 'pg';
import { from, to } from 'pg-copy-streams';
import { clientConfig } from '../platform/db/client-config.ts';
import { CURRENT_SCHEMA } from '../platform/db/current-schema.ts';
import { inlineValues } from '../platform/db/inlined.ts';
import { createPool, setUp, TYPES } from '../platform/db/pool.ts';
import { type Db, exec, join, many, one, raw, type Sql, sql } from '../platform/db/query.ts';
import { serversOf, waitForPrimary } from '../platform/db/servers.ts';
import { explainDatabaseError, StartupError } from '../platform/db/startup-error.ts';
import type { Log } from '../platform/lib/log.ts';

/** The database of a cell. */
export type Cell = AsyncDisposable & {
  readonly number: number;
  readonly pool: Pool;
  /** Opens a separate session, since COPY does not work on the pipelined ones of the pool. */
  openSession(): Promise<Client>;
};

/** Name of the sessions that copy an account: they write for no other account. */
export const COPY_SESSION = 'heliograph account copy';
/**
 * A transaction is idle while the other cell works. During a COPY, the other machine may be gone and accept no data.
 */
const SETTINGS = {
  statement_timeout: '0',
  idle_session_timeout: '0',
  idle_in_transaction_session_timeout: '10min',
  tcp_user_timeout: '60s',
  jit: 'off',
};

/**
 * Opens the database of a cell. Rejects with a StartupError if none of its servers accepts writes or it belongs to
 * another cell.
 */
export async function openCell(number: number, connectionString: string, log: Log): Promise<Cell> {
  const pool = createPool(connectionString, { max: 4, applicationName: 'heliograph account move', log });
  try {
    await waitForPrimary(connectionString);
    const own = await one<{ number: number | null }>(pool, sql`SELECT (SELECT number FROM cell) AS number`);
    if (own.number !== number)
      throw new StartupError(`The database of cell ${number} states that it is cell ${own.number}.`);
  } catch (error) {
    await pool.end();
    throw explainDatabaseError(error, `CELL_DATABASES (cell ${number})`);
  }
  const openSession = async (): Promise<Client> => {
    const options = { application_name: COPY_SESSION, connectionTimeoutMillis: 10_000, keepAlive: true, types: TYPES };
    const client = new pg.Client(clientConfig(serversOf(connectionString).current(), options));
    // A query in progress reports the error through its own promise.
    client.on('error', () => undefined);
    await client.connect();
    await client.query(setUp(SETTINGS));
    return client;
  };
  return { number, pool, openSession, [Symbol.asyncDispose]: () => pool.end() };
}

/**
 * A table with rows of accounts: its kind, as its comment states; the column that names the account (null: another
 * table does); the columns that are stored, and which of them number the rows within a database; and the tables that it
 * refers to.
 */
export type Table = Readonly<Record<'name' | 'kind', string>> &
  Readonly<Record<'columns' | 'renewed' | 'parents', readonly string[]>> & { readonly key: string | null };

/** Tables without a column for the account, with the condition for its rows. */
const OWNED_BY_OTHERS: Readonly<Record<string, (accountId: number) => Sql>> = {
  account: (accountId) => sql`id = ${accountId}`,
  login_network: (accountId) => sql`user_id IN (SELECT id FROM app_user WHERE account_id = ${accountId})`,
  number_pool_number: (accountId) => sql`pool_id IN (SELECT id FROM number_pool WHERE owner_id = ${accountId})`,
};
/** Rows about an account that describe the cell, or start again at the target. */
const STAYING: ReadonlySet<string> = new Set(
  (
    'conditional_route contact_upload contact_upload_part file_removal keyword_count lookup_budget passed_on ' +
    'quality_sample single_sign_on_state smpp_bind social_state webhook_claim'
  ).split(' '),
);
/** Rows that workers take up without a queue; without a balance, nothing is accepted. */
const WORK = new Set(['simulated_outcome', 'social_profile', 'credit_balance']);

/** Lists the tables with rows of accounts from the catalogue, in an order in which no row refers to a later table. */
export async function listTables(db: Db): Promise<Table[]> {
  const found = await many<Table>(
    db,
    sql`SELECT c.relname AS name, obj_description(c.oid, 'pg_class') AS kind,
          (SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attname IN ('account_id', 'owner_id')) AS key,
          ARRAY(SELECT attname::text FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped
                  AND attgenerated = '' ORDER BY attnum) AS columns,
          ARRAY(SELECT a.attname::text FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
                WHERE a.attrelid = c.oid AND (a.attidentity <> '' OR pg_get_expr(d.adbin, c.oid) LIKE 'nextval(%')) AS renewed,
          ARRAY(SELECT DISTINCT p.relname::text FROM pg_constraint k JOIN pg_class p ON p.oid = k.confrelid
                WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS parents
        FROM pg_class c
        WHERE c.relnamespace = ${CURRENT_SCHEMA} AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`,
  );
  const owned = found.filter(({ name, key }) => key !== null || name in OWNED_BY_OTHERS);
  const rest = new Map(owned.map((table) => [table.name, table]));
  const ordered: Table[] = [];
  const add = (table: Table): void => {
    if (!rest.delete(table.name)) return;
    for (const parent of owned) if (table.parents.includes(parent.name)) add(parent);
    ordered.push(table);
  };
  for (const table of owned) add(table);
  return ordered;
}

/**
 * Returns true for a table that is put aside while an account is held, so that no worker takes up its rows: all queues
 * except that of the chunks.
 */
export const isWork = ({ name, kind }: Table): boolean =>
  WORK.has(name) || (kind === 'queue' && !STAYING.has(name) && name !== 'dispatch_chunk' && name !== 'account_work');

export const isCopied = (table: Table): boolean => !isWork(table) && !STAYING.has(table.name);

/** The condition for the rows of an account. */
export const own = ({ name, key }: Table, accountId: number): Sql =>
  OWNED_BY_OTHERS[name]?.(accountId) ?? sql`${raw(key ?? '')} = ${accountId}`;

/** Deletes the rows of an account, and from the rows that stay, those that refer to it. */
export async function deleteAccountRows(tx: Db, tables: readonly Table[], accountId: number): Promise<void> {
  await exec(tx, sql`UPDATE user_session SET acting_account_id = NULL WHERE acting_account_id = ${accountId}`);
  const deleted = tables.filter(({ name, parents }) => !STAYING.has(name) || parents.includes('account'));
  for (const table of deleted.toReversed())
    await exec(tx, sql`DELETE FROM ${raw(table.name)} WHERE ${own(table, accountId)}`);
}

/** The id in the target of each connection of the source. */
export type ConnectionIds = ReadonlyMap<number, number>;

const NOTHING = raw('NULL');
/** Values of these columns in the target, instead of their own. */
const VALUES: Readonly<Record<string, Sql>> = {
  'account.away': NOTHING,
  'account.cell': NOTHING,
  'account.moves': raw('moves + 1'),
  'user_session.acting_account_id': NOTHING,
  'export_job.owner': NOTHING,
  'smpp_outbox.owner': NOTHING,
};

/** The value of a column as the target stores it; `row` is how SQL names the row. */
export function valueOf({ name }: Table, column: string, ids: ConnectionIds, row = ''): Sql {
  const translated = (id: string): Sql =>
    ids.size === 0
      ? raw(id)
      : raw(`CASE ${id} ${[...ids].map(([here, there]) => `WHEN ${here} THEN ${there}`).join(' ')} ELSE ${id} END`);
  const value = VALUES[`${name}.${column}`];
  if (value !== undefined) return value;
  if (column === 'connection_id') return translated(`${row}connection_id`);
  if (column === 'alternates')
    return sql`ARRAY(SELECT ${translated('a.id')} FROM unnest(${raw(row)}alternates) WITH ORDINALITY AS a (id, n) ORDER BY a.n)`;
  return raw(`${row}"${column}"`);
}

export const listOf = (columns: readonly string[]): Sql => join(columns.map((column) => raw(`"${column}"`)));

/** Copies the rows of an account in one table. Both sessions may run nothing else meanwhile. Returns their number. */
export async function copyTable(
  source: Client,
  target: Client,
  { table, accountId, ids }: { readonly table: Table; readonly accountId: number; readonly ids: ConnectionIds },
): Promise<number> {
  const values = join(table.columns.map((column) => valueOf(table, column, ids)));
  const rows = sql`FROM ${raw(table.name)} WHERE ${own(table, accountId)}`;
  const count = async (cell: Client): Promise<number> =>
    (await one<{ count: number }>(cell, sql`SELECT count(*) AS count ${rows}`)).count;
  const here = await count(source);
  if (here === 0) return 0;
  await pipeline(
    source.query(to(`COPY (${inlineValues(sql`SELECT ${values} ${rows}`)}) TO STDOUT`)),
    target.query(from(`COPY ${table.name} (${table.columns.map((column) => `"${column}"`).join(', ')}) FROM STDIN`)),
  );
  const there = await count(target);
  if (here !== there) throw new Error(`The copy of ${table.name} has ${there} rows instead of ${here}.`);
  return here;
}

/**
 * Returns the credit of an account, by its balance and by its ledger, as one text. Works also while the balance is put
 * aside.
 */
export async function findMoney(db: Db, accountId: number): Promise<string> {
  const { money } = await one<{ money: string }>(
    db,
    sql`SELECT concat_ws(' | ',
          (SELECT concat(b.currency, ' ', b.available_micros, ' ', b.unlimited) FROM (
             SELECT * FROM credit_balance WHERE account_id = ${accountId}
             UNION ALL SELECT (w.content::credit_balance).* FROM account_work w
                       WHERE w.account_id = ${accountId} AND w.table_name = 'credit_balance') AS b),
          (SELECT sum(micros) FROM credit_frozen WHERE account_id = ${accountId}),
          (SELECT string_agg(concat(from_book, '>', to_book, ' ', n, ' ', micros), ', ' ORDER BY from_book, to_book)
           FROM (SELECT from_book, to_book, count(*) AS n, sum(amount_micros) AS micros FROM ledger_entry
                 WHERE account_id = ${accountId} GROUP BY 1, 2) AS l)) AS money`,
  );
  return money;
}
