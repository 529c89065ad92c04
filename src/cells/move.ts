import type { Command } from 'commander';
import type { Client, Pool } from 'pg';
import { type Away, findAccount, listAway } from '../accounts/accounts.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Config } from '../core/config.ts';
import { createPartitions, listEndedDays } from '../core/db/partitions.ts';
import { type Db, exec, many, maybeOne, one, raw, type Sql, sql } from '../core/db/query.ts';
import { setStatementTimeoutMinutes, transaction } from '../core/db/transaction.ts';
import { AppError } from '../core/errors.ts';
import { silentLog } from '../core/log.ts';
import { loadSecretKey, type SecretKey } from '../core/secrets.ts';
import { carryErasures } from '../operate/erasures.ts';
import { listConnections } from '../routing/connection-store.ts';
import { secretOf } from '../routing/connections.ts';
import { ALL_ROUTES } from '../routing/routes.ts';
import {
  type Cell,
  type ConnectionIds,
  copyTable,
  deleteAccountRows,
  findMoney,
  hold,
  isCopied,
  listTables,
  openCell,
  release,
  resume,
} from './copy.ts';
import { openDirectory, updateCell } from './directory.ts';

/** The two cells of a move, and the directory in front of them. */
type Ends<C> = { readonly source: C; readonly target: C; readonly directory: Pool };
type Move = Ends<Cell> & {
  readonly accountId: number;
  readonly ids: ConnectionIds;
  /** Called at each step. */
  readonly onStep: (step: string) => void;
};

/** `heldMs` is how long the account was not served; null when an earlier run of the command had ended its service. */
type Moved = { readonly rows: number; readonly heldMs: number | null };

const conflict = (message: string): AppError => new AppError('conflict', { message });

export const findAway = async (db: Db, accountId: number): Promise<Away | undefined> =>
  (await listAway(db)).find((away) => away.accountId === accountId);

/**
 * Moves an account from one cell to another, whose connections, routes and prices must fit (`listObstacles`), while it
 * is held. The commit of the copy in the target decides: before it the account belongs to the source, and is served
 * there again if anything fails; after it, to the target. If the process dies before it has decided, `settle` does.
 */
export async function moveAccount(move: Move): Promise<Moved> {
  const { source, target, directory, accountId } = move;
  const ends = { source: source.pool, target: target.pool, directory };
  const before = await findAway(source.pool, accountId);
  if (before && before.cell !== target.number)
    throw conflict(`The account is in cell ${before.cell}, or on its way there`);
  if (before?.state === 'moved' || (before && (await settle(ends, before)))) return { rows: 0, heldMs: null };
  await createPartitions(target.pool, await listEndedDays(source.pool, new Date()));
  await using opened = new AsyncDisposableStack();
  // Also ends open transactions.
  const open = async (cell: Cell) =>
    opened.adopt(await cell.openSession(), (client) => client.end().catch(() => undefined));
  const [from, to] = [await open(source), await open(target)];
  await to.query('BEGIN');
  if (!(await tryLock(to, accountId))) throw conflict('Another process moves the account: try again in a minute');
  const beganAt = performance.now();
  let rows = 0;
  try {
    rows = await holdAndCopy(move, from, to);
  } catch (error) {
    await to.end().catch(() => undefined);
    await from.end().catch(() => undefined);
    const held = await findAway(source.pool, accountId);
    if (held?.cell !== target.number || !(await settle(ends, held))) throw error;
  }
  return { rows, heldMs: Math.round(performance.now() - beganAt) };
}

async function holdAndCopy(move: Move, from: Client, to: Client): Promise<number> {
  const { source, target, directory, accountId, onStep } = move;
  onStep('holding');
  await hold(source.pool, { accountId, cell: target.number });
  onStep('copying');
  await from.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
  const held = sql`SELECT moves FROM account WHERE id = ${accountId} AND away = 'held' FOR NO KEY UPDATE`;
  const row = await maybeOne<{ moves: number }>(from, held);
  if (!row) throw conflict('The move was undone');
  const rows = await copyAccount(from, to, move);
  onStep('switching');
  await commit(to);
  await updateCell(directory, { accountId, cell: target.number, moves: row.moves + 1 });
  await leave(from, accountId);
  await commit(from);
  return rows;
}

async function commit(session: Client): Promise<void> {
  const { command } = await session.query('COMMIT');
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back');
}

/**
 * Copies all rows of an account in one pass, starts its work in the target when that commits, and compares its money.
 */
async function copyAccount(from: Client, to: Client, { accountId, ids }: Move): Promise<number> {
  if (await maybeOne(to, sql`SELECT FROM account WHERE id = ${accountId} AND away IS DISTINCT FROM 'moved'`))
    throw conflict('The target already serves an account with this id');
  const tables = await listTables(from);
  await deleteAccountRows(to, tables, accountId);
  let rows = 0;
  for (const table of tables.filter(isCopied)) rows += await copyTable(from, to, { table, accountId, ids });
  await resume(to, { accountId, ids });
  await carryErasures(to, { accountId });
  const [here, there] = [await findMoney(from, accountId), await findMoney(to, accountId)];
  if (here !== there) throw new Error(`The copy of the credit differs: "${here}" in the source, "${there}" there.`);
  const { at } = await one<{ at: string }>(from, sql`SELECT done_to::text AS at FROM expiry_progress`);
  await exec(to, sql`UPDATE expiry_progress SET done_to = least(done_to, ${at}::timestamptz)`);
  return rows;
}

/** Marks a held account as moved, and deletes its pending work: that waits in the target. The other rows stay. */
async function leave(tx: Db, accountId: number): Promise<void> {
  if ((await exec(tx, sql`UPDATE account SET away = 'moved' WHERE id = ${accountId} AND away = 'held'`)) === 0) return;
  for (const table of ['account_work', 'dispatch_chunk'])
    await exec(tx, sql`DELETE FROM ${raw(table)} WHERE account_id = ${accountId}`);
}

/**
 * Decides a move whose process has died: a held account whose copy is in the target has moved, and any other one is
 * served in the source again. Returns true if it has moved; null, without deciding, while another process moves it.
 */
export async function settle({ source, target, directory }: Ends<Pool>, away: Away): Promise<boolean | null> {
  const { accountId, cell, moves } = away;
  const hasMoved = await transaction(target, async (tx) => {
    // While this has the lock, no copy is committed that was begun before.
    if (!(await tryLock(tx, accountId))) return null;
    if (await knowsNewer(tx, away)) return true;
    await transaction(source, async (own) => {
      await release(own, accountId);
      // The account is locked in the source now. This fails when the lock in the target was lost meanwhile.
      if (await knowsNewer(tx, away)) throw conflict('The account was copied meanwhile');
    });
    return false;
  });
  if (!hasMoved) return hasMoved;
  await updateCell(directory, { accountId, cell, moves: moves + 1 });
  await transaction(source, (tx) => leave(tx, accountId));
  return true;
}

const knowsNewer = async (db: Db, { accountId, moves }: Away): Promise<boolean> =>
  (await maybeOne(db, sql`SELECT FROM account WHERE id = ${accountId} AND moves > ${moves}`)) !== undefined;

/** Keeps other moves of the account to this database out until the transaction ends; false when there is one. */
async function tryLock(tx: Db, accountId: number): Promise<boolean> {
  // Any number, but the same in every release.
  const lock = sql`SELECT pg_try_advisory_xact_lock(7306501, hashint8(${accountId})) AS taken`;
  return (await one<{ taken: boolean }>(tx, lock)).taken;
}

/**
 * Deletes the rows that a moved account has left here, by which late receipts are passed on. Errors: 409 when it has
 * not moved, when rows still wait to be passed on, and when the target does not have it, as after a restore.
 */
export async function clearMoved({ source, target }: Omit<Ends<Pool>, 'directory'>, accountId: number): Promise<void> {
  const away = await findAway(source, accountId);
  if (away?.state !== 'moved') throw conflict('The account has not moved');
  if (!(await knowsNewer(target, away)))
    throw conflict(`Cell ${away.cell} does not have the account: was it restored?`);
  if (await maybeOne(source, sql`SELECT FROM passed_on WHERE account_id = ${accountId} LIMIT 1`))
    throw conflict('Receipts or inbound messages wait to be passed on: is a worker running?');
  await transaction(source, async (tx) => {
    await setStatementTimeoutMinutes(tx, 60);
    await deleteAccountRows(tx, await listTables(tx), accountId);
  });
}

/**
 * Returns the id in the target of each connection of the source, by kind and name; those that the target lacks are
 * omitted.
 */
export async function matchConnections(source: Db, target: Db): Promise<ConnectionIds> {
  const list = (db: Db) =>
    many<{ id: number; name: string }>(db, sql`SELECT id, kind || ' ' || name AS name FROM connection`);
  const [here, there] = await Promise.all([list(source), list(target)]);
  const ids = new Map(there.map(({ id, name }) => [name, id]));
  return new Map(here.flatMap(({ id, name }) => (ids.has(name) ? [[id, ids.get(name) ?? 0] as const] : [])));
}

/** Data that must be the same in two cells between which accounts move, as lines. */
const COMPARED: Readonly<Record<string, Sql>> = {
  migrations: sql`SELECT name || ' ' || left(sha256, 8) AS line FROM schema_migration`,
  connections: sql`SELECT kind || ' ' || name AS line FROM connection`,
  routes: sql`SELECT concat_ws(' ', r.channel, coalesce(nullif(r.prefix, ''), '*'), c.name, r.priority, r.on_unknown,
      'weight ' || r.weight, 'network ' || r.network, 'account ' || r.owner_id, 'sender ' || r.sender, r.hours) AS line
    FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id`,
  prices: sql`SELECT concat_ws(' ', channel, coalesce(nullif(prefix, ''), '*'), unit_micros, refund_undelivered,
      'account ' || owner_id, 'category ' || nullif(category, '*'), nullif(session_window, '*'),
      CASE WHEN per_part <> (channel = 'SMS') THEN 'per part ' || per_part END, 'from ' || valid_from,
      nullif(currency, 'EUR')) AS line
    FROM price`,
  'senders of all accounts': sql`SELECT channel || ' ' || identity AS line FROM sender WHERE owner_id IS NULL`,
  'templates of all accounts': sql`SELECT concat_ws(' ', channel, id, left(md5(content::text), 8)) AS line
    FROM template WHERE owner_id IS NULL`,
};
const TARGET_MAY_HAVE_MORE = /^connections|of all accounts$/;

/**
 * Lists the differences between the settings of two cells that prevent accounts from moving from one to the other, one
 * sentence each.
 */
async function listDifferences(source: Db, target: Db): Promise<string[]> {
  const named = (some: readonly string[]): string => (some.length === 0 ? 'none' : some.slice(0, 5).join('; '));
  const read = async (db: Db, lines: Sql): Promise<Set<string>> =>
    new Set((await many<{ line: string }>(db, lines)).map(({ line }) => line));
  const sentences = Object.entries(COMPARED).map(async ([what, lines]) => {
    const [here, there] = await Promise.all([read(source, lines), read(target, lines)]);
    const less = [...here.difference(there)];
    const more = TARGET_MAY_HAVE_MORE.test(what) ? [] : [...there.difference(here)];
    if (less.length + more.length === 0) return [];
    return [`The ${what} differ. Only in the source: ${named(less)}. Only in the target: ${named(more)}.`];
  });
  return (await Promise.all(sentences)).flat();
}

type Wanted = Readonly<{ source: Db; target: Db; accountId: number; secretKey: SecretKey; filesAreThere: boolean }>;

/**
 * Lists the obstacles to remove before an account can move, one sentence each; names that are taken fail the copy.
 * `filesAreThere`: the files of the account are where the target finds them.
 */
export async function listObstacles({ source, target, accountId, ...wanted }: Wanted): Promise<string[]> {
  const operators = await many<{ username: string }>(
    source,
    sql`SELECT username FROM app_user WHERE account_id = ${accountId} AND is_operator ORDER BY username`,
  );
  const { files } = await one<{ files: number }>(
    source,
    sql`SELECT (SELECT count(*) FROM media WHERE account_id = ${accountId})
             + (SELECT count(*) FROM export WHERE account_id = ${accountId} AND file_key IS NOT NULL) AS files`,
  );
  return [
    ...operators.map(
      ({ username }) => `${username} is an operator of the source: remove that role, or use another account.`,
    ),
    ...(await listDifferences(source, target)),
    ...((await isOpenedBy(target, wanted.secretKey)) ? [] : ['The target has another SECRET_KEY.']),
    ...(files === 0 || wanted.filesAreThere
      ? []
      : [
          `The account has ${files} files in a folder of this cell: copy them to that of the target, and add --files-are-copied.`,
        ]),
  ];
}

async function isOpenedBy(target: Db, key: SecretKey): Promise<boolean> {
  const [connection] = await listConnections(target);
  try {
    if (connection) secretOf(connection, key);
    return true;
  } catch {
    return false;
  }
}

type Options = {
  readonly to?: number | undefined;
  readonly dryRun?: true;
  readonly clear?: true;
  readonly filesAreCopied?: true;
};

/** `cell move`. Run it with the settings of the cell that the account leaves. */
export function registerCellCommands(program: Command, context: CommandContext): void {
  program
    .command('cell')
    .description('several installations behind one proxy')
    .command('move')
    .argument('<account>', 'name or id')
    .option('--to <cell>', 'number of the cell to move to', Number)
    .option('--dry-run', 'only list the obstacles')
    .option('--files-are-copied', 'the files of the account are in the storage of the other cell')
    .option('--clear', 'delete the rows that a moved account has left here, after three days')
    .description('move an account to another cell while it is held; run it again to continue')
    .action(async (reference: string, options: Options) => {
      const config = context.config();
      if (options.dryRun && options.clear)
        throw new AppError('invalid', { message: '--dry-run and --clear cannot be used together' });
      await context.withDatabase(async (pool) => {
        const account = await findAccount(pool, { reference });
        await run(context, config, account, { to: (await findAway(pool, account.id))?.cell, ...options });
      });
    });
}

type Account = { readonly id: number; readonly name: string };

async function run(context: CommandContext, config: Config, { id, name }: Account, options: Options): Promise<void> {
  const { databases, directoryUrl } = config.cells;
  const { to = config.cell } = options;
  const refuse = (message: string): never => {
    throw new AppError('invalid', { message });
  };
  if (to === config.cell) refuse('--to must name another cell');
  await using opened = new AsyncDisposableStack();
  const open = async (number: number, url: string | undefined): Promise<Cell> => {
    const known = url ?? refuse(`The database of cell ${number} must have a URL, in DATABASE_URL or CELL_DATABASES`);
    return opened.use(await openCell(number, known, silentLog));
  };
  const known = directoryUrl ?? refuse('DIRECTORY_URL must be set: the directory records moved accounts');
  const directory = opened.adopt(await openDirectory(known, silentLog), (pool) => pool.end());
  const [source, target] = [await open(config.cell, config.databaseUrl), await open(to, databases.get(to))];
  const ends = { source: source.pool, target: target.pool, directory };
  if (options.clear) {
    await clearMoved(ends, id);
    return context.report(
      { accountId: id, cleared: true },
      () => `Cell ${config.cell} has no rows of ${name} any more.`,
    );
  }
  const secretKey = await loadSecretKey(config);
  const filesAreThere = options.filesAreCopied === true || config.storage.kind !== 'file';
  const isUnderWay = (await findAway(source.pool, id)) !== undefined;
  const obstacles = isUnderWay ? [] : await listObstacles({ ...ends, accountId: id, secretKey, filesAreThere });
  if (options.dryRun)
    return context.report(
      { accountId: id, obstacles },
      () => ['Obstacles:', ...(obstacles.length > 0 ? obstacles : ['nothing'])].join('\n'),
      obstacles.length === 0,
    );
  if (obstacles.length > 0) throw new AppError('conflict', { message: obstacles.join('\n') });
  const ids = await matchConnections(source.pool, target.pool);
  const moved = await moveAccount({ source, target, directory, accountId: id, ids, onStep: context.progress });
  context.report({ accountId: id, cell: to, ...moved }, ({ rows, heldMs }) =>
    heldMs === null
      ? `The account ${name} is served in cell ${to}.`
      : `The account ${name} is served in cell ${to}: ${rows} rows copied, held for ${heldMs} ms.`,
  );
}
