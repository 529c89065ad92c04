import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import pg, { type Client, type Pool } from 'pg';
import { from, to } from 'pg-copy-streams';
import { notifyAccountChange } from '../accounts/accounts.ts';
import { CURRENT_SCHEMA } from '../core/db/migrate.ts';
import { clientConfig, createPool, serversOf, setUp, TYPES, waitForPrimary } from '../core/db/pool.ts';
import { type Db, exec, inlineValues, join, many, one, raw, type Sql, sql } from '../core/db/query.ts';
import { explainDatabaseError, StartupError } from '../core/db/startup-error.ts';
import { repeatedTransaction, setStatementTimeoutMinutes } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import type { Log } from '../core/log.ts';
import { fileRemoval } from '../core/storage.ts';
import { WAKE_CHANNEL } from '../dispatch/pump.ts';
import { notifyRoutingChange } from '../routing/connection-store.ts';
import { WEBHOOKS_CHANNEL } from '../webhooks/outbox.ts';

export type Cell = AsyncDisposable & {
  readonly number: number;
  readonly pool: Pool;
  /** Opens a separate session, since COPY does not work on the pipelined ones of the pool. */
  openSession(): Promise<Client>;
};

/** Name of the sessions that copy an account: they write for no other account. */
const COPY_SESSION = 'heliograph account copy';
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
type Table = Readonly<Record<'name' | 'kind', string>> &
  Readonly<Record<'columns' | 'renewed' | 'parents', readonly string[]>> & { readonly key: string | null };

/** Tables without a column for the account, with the condition for its rows. */
const OWNED_BY_OTHERS: Readonly<Record<string, (accountId: number) => Sql>> = {
  account: (accountId) => sql`id = ${accountId}`,
  // The files stay.
  job: (accountId) => sql`account_id = ${accountId} AND kind <> ${fileRemoval.kind}`,
  login_network: (accountId) => sql`user_id IN (SELECT id FROM app_user WHERE account_id = ${accountId})`,
  number_pool_number: (accountId) => sql`pool_id IN (SELECT id FROM number_pool WHERE owner_id = ${accountId})`,
};
/** Rows about an account that describe the cell, or start again at the target. */
const STAYING: ReadonlySet<string> = new Set(
  (
    'conditional_route contact_upload contact_upload_part keyword_count lookup_budget passed_on price ' +
    'quality_sample single_sign_on_state smpp_bind social_state webhook_claim webhook_published'
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
/** Values of these columns in the target, which replace those of the source. */
const VALUES: Readonly<Record<string, Sql>> = {
  'account.away': NOTHING,
  'account.cell': NOTHING,
  'account.moves': raw('moves + 1'),
  'user_session.acting_account_id': NOTHING,
  'job.owner': NOTHING,
  'smpp_outbox.owner': NOTHING,
};

/** The value of a column as the target stores it; `row` is how SQL names the row. */
function valueOf({ name }: Table, column: string, ids: ConnectionIds, row = ''): Sql {
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

const listOf = (columns: readonly string[]): Sql => join(columns.map((column) => raw(`"${column}"`)));

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

/** Time for which a move waits for work that workers have in hand. */
const PATIENCE_MS = 30_000;
/** Time to wait for receivers of events: those not acknowledged by then are sent again from the other cell. */
const EVENTS_MS = 3000;
const POLL_MS = 50;

/**
 * Ends the service of an account: its requests get 503, and its work is put aside where no worker finds
 * it. Resolves when nothing writes for it any more; rejects after 30 seconds with what still prevents it. Errors: 409
 * when the account is not served here.
 */
export async function hold(source: Pool, { accountId, cell }: { accountId: number; cell: number }): Promise<void> {
  const mark = sql`UPDATE account SET away = 'held', cell = ${cell} WHERE id = ${accountId} AND away IS NULL`;
  if ((await exec(source, mark)) === 0) throw new AppError('conflict', { message: 'The account is not served here' });
  await notifyAccountChange(source, { accountId });
  // A transaction that began before this may not have seen the mark.
  const { instant } = await one<{ instant: string }>(source, sql`SELECT clock_timestamp()::text AS instant`);
  const tables = (await listTables(source)).filter(isWork);
  const beganAt = performance.now();
  for (;;) {
    // Repeatedly: a chunk that a carrier defers comes back as one that is not parked.
    await repeatedTransaction(source, (tx) => park(tx, accountId));
    // Work in hand needs the other queues until it is recorded.
    for (const table of tables.filter(({ name }) => name === 'campaign_job')) await putAside(source, table, accountId);
    const { owned, older, events } = await countOpen(source, { accountId, instant });
    const waited = performance.now() - beganAt;
    if (owned + older === 0 && (events === 0 || waited > EVENTS_MS) && (await end(source, tables, accountId))) return;
    if (waited > PATIENCE_MS)
      throw new Error(
        `Workers have ${owned} chunks of the account and ${older} older transactions are open: try again later.`,
      );
    await delay(POLL_MS);
  }
}

/** Parks chunks that a worker holds as well: it notices before it writes more of them, and returns them. */
const park = (tx: Db, accountId: number): Promise<number> =>
  exec(
    tx,
    sql`UPDATE dispatch_chunk c SET parked_until = c.available_at, available_at = 'infinity'
        FROM (SELECT id FROM dispatch_chunk WHERE account_id = ${accountId} AND parked_until IS NULL
              ORDER BY id FOR UPDATE) AS own WHERE c.id = own.id`,
  );

/** Waits for a worker that has locked some of the rows. */
const putAside = (db: Db, table: Table, accountId: number): Promise<number> =>
  exec(
    db,
    sql`WITH gone AS (DELETE FROM ${raw(table.name)} WHERE ${own(table, accountId)} RETURNING *)
        INSERT INTO account_work (account_id, table_name, content)
        SELECT ${accountId}::bigint, ${table.name}::text, gone::text FROM gone
        ORDER BY ${table.renewed.length > 0 ? listOf(table.renewed) : raw('1')}`,
  );

/**
 * Takes the balance away, for which every transaction that accepts messages waits, and then fails; and the events from
 * the worker that has them. If chunks were claimed meanwhile, undoes all of it and returns false.
 */
const end = (source: Pool, tables: readonly Table[], accountId: number): Promise<boolean> =>
  repeatedTransaction(source, async (tx) => {
    await setStatementTimeoutMinutes(tx, 60);
    await exec(tx, sql`SAVEPOINT begun`);
    await exec(tx, sql`SELECT FROM credit_balance WHERE account_id = ${accountId} FOR UPDATE`);
    await exec(tx, sql`DELETE FROM webhook_claim WHERE account_id = ${accountId}`);
    for (const table of tables) await putAside(tx, table, accountId);
    await park(tx, accountId);
    const { owned } = await one<{ owned: number }>(tx, sql`SELECT ${ownedBy(accountId)} AS owned`);
    if (owned > 0) await exec(tx, sql`ROLLBACK TO SAVEPOINT begun`);
    return owned === 0;
  });

const ownedBy = (accountId: number) =>
  sql`(SELECT count(*) FROM dispatch_chunk WHERE account_id = ${accountId} AND owner IS NOT NULL)`;

/**
 * Counts open work: chunks, transactions that began before `instant` and may write for the account, and events that
 * could be sent now. Exports only read, and so does the copy of another account.
 */
const countOpen = (db: Db, { accountId, instant }: { accountId: number; instant: string }) =>
  one<{ owned: number; older: number; events: number }>(
    db,
    sql`SELECT ${ownedBy(accountId)} AS owned,
          (SELECT count(*) FROM pg_stat_activity
           WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
             AND xact_start <= ${instant}::timestamptz AND application_name NOT IN ('heliograph export', ${COPY_SESSION})) AS older,
          (SELECT count(*) FROM (SELECT FROM webhook_outbox WHERE account_id = ${accountId} UNION ALL
             SELECT FROM webhook_retry WHERE account_id = ${accountId} AND due_at <= now()) AS e) AS events`,
  );

/**
 * Gives an account back to the workers of this database, in the caller's transaction: restores its work, and puts its
 * chunks among the first that wait at their connections. Those of campaigns that are paused or cancelled stay parked.
 */
export async function resume(
  tx: Db,
  { accountId, ids = new Map() }: { accountId: number; ids?: ConnectionIds },
): Promise<void> {
  await setStatementTimeoutMinutes(tx, 60);
  // From the last one: events that wait for another attempt are older than those that were never tried.
  for (const table of (await listTables(tx)).filter(isWork).toReversed()) await putBack(tx, table, accountId, ids);
  await exec(tx, sql`DELETE FROM account_work WHERE account_id = ${accountId}`);
  await exec(
    tx,
    sql`WITH firsts AS MATERIALIZED (
          SELECT k.connection_id, k.priority,
                 (SELECT min(q.round) FROM dispatch_chunk q WHERE q.connection_id = k.connection_id
                    AND q.priority = k.priority AND q.owner IS NULL AND q.available_at <= now()) AS round
          FROM (SELECT DISTINCT connection_id, priority FROM dispatch_chunk WHERE account_id = ${accountId}) AS k),
        own AS (
          SELECT d.id, coalesce(f.round, 0) - d.size + sum(d.size) OVER (PARTITION BY d.connection_id, d.priority
                                                                         ORDER BY d.round, d.id) AS round,
                 NOT EXISTS (SELECT FROM campaign p WHERE p.account_id = d.account_id AND p.id = d.campaign_id
                               AND (p.paused_at IS NOT NULL OR p.cancelled_at IS NOT NULL)) AS goes
          FROM dispatch_chunk d JOIN firsts f USING (connection_id, priority) WHERE d.account_id = ${accountId})
        UPDATE dispatch_chunk c SET round = own.round,
          available_at = CASE WHEN own.goes THEN coalesce(c.parked_until, c.available_at) ELSE c.available_at END,
          parked_until = CASE WHEN NOT own.goes THEN c.parked_until END
        FROM own WHERE c.id = own.id`,
  );
  await exec(
    tx,
    sql`SELECT pg_notify(${WEBHOOKS_CHANNEL}, '') UNION ALL SELECT pg_notify(${WAKE_CHANNEL}, u.id::text)
        FROM (SELECT DISTINCT connection_id AS id FROM dispatch_chunk WHERE account_id = ${accountId}) AS u`,
  );
  await notifyAccountChange(tx, { accountId });
  await notifyRoutingChange(tx);
}

function putBack(tx: Db, table: Table, accountId: number, ids: ConnectionIds): Promise<number> {
  const columns = table.columns.filter((column) => !table.renewed.includes(column));
  return exec(
    tx,
    sql`WITH w AS MATERIALIZED (
          SELECT id, content::${raw(table.name)} AS r FROM account_work
          WHERE account_id = ${accountId} AND table_name = ${table.name})
        INSERT INTO ${raw(table.name)} (${listOf(columns)})
        SELECT ${join(columns.map((column) => valueOf(table, column, ids, '(w.r).')))} FROM w ORDER BY w.id`,
  );
}

/** Serves a held account here again, in the caller's transaction; does nothing if it is not held. */
export async function release(tx: Db, accountId: number): Promise<void> {
  const served = sql`UPDATE account SET away = NULL, cell = NULL WHERE id = ${accountId} AND away = 'held'`;
  if ((await exec(tx, served)) > 0) await resume(tx, { accountId });
}
