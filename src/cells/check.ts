import type { Pool } from 'pg';
import { type Db, many, maybeOne, type Sql, sql } from '../../platform/db/query.ts';
import type { Cell } from './cells.ts';
import type { ConnectionIds } from './rows.ts';
import { findMove } from './sql.ts';
import { ALL_ROUTES } from '../../network/routing/sql.ts';

type Between = { readonly source: Cell; readonly target: Cell; readonly accountId: number };

type Connection = { readonly id: number; readonly name: string; readonly kind: string };
const listConnections = (db: Db): Promise<Connection[]> =>
  many<Connection>(db, sql`SELECT id, name, kind FROM connection ORDER BY name`);

/** Returns the id in the target of each connection of the source; those that the target lacks are left out. */
export async function matchConnections(source: Db, target: Db): Promise<ConnectionIds> {
  const [here, there] = await Promise.all([listConnections(source), listConnections(target)]);
  const byName = new Map(there.map((connection) => [`${connection.kind} ${connection.name}`, connection.id]));
  return new Map(
    here.flatMap(({ id, kind, name }) => {
      const match = byName.get(`${kind} ${name}`);
      return match === undefined ? [] : [[id, match] as const];
    }),
  );
}

/** Lists what must be put right before an account can move, one sentence each; nothing when it has left already. */
export async function listObstacles(between: Between): Promise<string[]> {
  const { source, target, accountId } = between;
  const stands = await findStanding(between);
  if (stands !== null) return [stands];
  // What was decided is completed, whatever has changed since.
  if ((await findMove(source.pool, { accountId }))?.state === 'left') return [];
  return (
    await Promise.all([
      listOperators(source.pool, accountId),
      listMissingConnections(source.pool, target.pool),
      compare('migrations', 'start both cells in the same release', MIGRATIONS, between),
      compare('routes', 'make them equal with route add and route remove', ROUTES, between),
      compare('prices', 'make them equal with price set and price remove', PRICES, between),
      listMissing('senders that all accounts share', SHARED_SENDERS, between),
      listMissing('templates that all accounts share', SHARED_TEMPLATES, between),
      listTaken(between),
    ])
  ).flat();
}

/** What makes the move impossible in itself; null: nothing. */
async function findStanding(between: Between): Promise<string | null> {
  return (await findWrongNumber(between)) ?? (await findHere(between)) ?? (await findThere(between));
}

async function findWrongNumber({ source, target }: Between): Promise<string | null> {
  for (const cell of [source, target]) {
    const row = await maybeOne<{ number: number }>(cell.pool, sql`SELECT number FROM cell`);
    if (row?.number !== cell.number)
      return `The database of cell ${cell.number} says that it is cell ${row?.number}: put CELL_DATABASES right.`;
  }
  return null;
}

async function findHere({ source, target, accountId }: Between): Promise<string | null> {
  const here = await findMove(source.pool, { accountId });
  if (here?.state === 'left')
    return here.cell === target.number
      ? null
      : `The account has left cell ${source.number} for cell ${here.cell}: move it from there.`;
  if (here?.state === 'arriving')
    return `The account is arriving in cell ${source.number} from cell ${here.cell}: complete that move first.`;
  return (await hasAccount(source.pool, accountId)) ? null : `Cell ${source.number} has no account ${accountId}.`;
}

async function findThere({ source, target, accountId }: Between): Promise<string | null> {
  if ((await findMove(source.pool, { accountId }))?.state === 'left') return null;
  const there = await findMove(target.pool, { accountId });
  if (there?.state === 'preparing' || there?.state === 'leaving')
    return `The account is leaving cell ${target.number}: complete or abort that move first.`;
  if (there?.state === 'left' && !there.arrived)
    return `The move of the account from cell ${target.number} is not over: run it again there, or wait for a worker.`;
  return there === undefined && (await hasAccount(target.pool, accountId))
    ? `Cell ${target.number} serves an account ${accountId} already.`
    : null;
}

const hasAccount = async (pool: Pool, accountId: number): Promise<boolean> =>
  (await maybeOne(pool, sql`SELECT FROM account WHERE id = ${accountId}`)) !== undefined;

/** Operators look after a cell, not after an account. */
async function listOperators(source: Db, accountId: number): Promise<string[]> {
  const rows = await many<{ username: string }>(
    source,
    sql`SELECT username FROM app_user WHERE account_id = ${accountId} AND is_operator ORDER BY username`,
  );
  return rows.map(
    ({ username }) => `${username} is an operator of the source: take that away, or use another account.`,
  );
}

async function listMissingConnections(source: Db, target: Db): Promise<string[]> {
  const [here, ids] = await Promise.all([listConnections(source), matchConnections(source, target)]);
  return here
    .filter(({ id }) => !ids.has(id))
    .map(({ name, kind }) => `The target has no connection ${name} of the kind ${kind}: add it.`);
}

const MIGRATIONS = sql`SELECT name || ' ' || left(sha256, 8) AS line FROM schema_migration`;
const ROUTES = sql`SELECT concat_ws(' ', r.channel, coalesce(nullif(r.prefix, ''), '*'), c.name, r.priority, r.on_unknown,
    'weight ' || r.weight, 'network ' || r.network, 'account ' || r.owner_id, 'sender ' || r.sender, r.hours) AS line
  FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id`;
const PRICES = sql`SELECT concat_ws(' ', channel, coalesce(nullif(prefix, ''), '*'), unit_micros, refund_undelivered) AS line FROM price`;

const SHARED_SENDERS = sql`SELECT channel || ' ' || identity AS line FROM sender WHERE owner_id IS NULL`;
const SHARED_TEMPLATES = sql`SELECT concat_ws(' ', channel, id, left(md5(content::text), 8)) AS line
  FROM template WHERE owner_id IS NULL`;

type Difference = { readonly less: readonly string[]; readonly more: readonly string[] };

/** The lines that only the source has, and those that only the target has. */
async function findDifference(lines: Sql, { source, target }: Between): Promise<Difference> {
  const read = async (db: Db): Promise<Set<string>> =>
    new Set((await many<{ line: string }>(db, lines)).map(({ line }) => line));
  const [here, there] = await Promise.all([read(source.pool), read(target.pool)]);
  return { less: [...here.difference(there)], more: [...there.difference(here)] };
}

const named = (some: readonly string[]): string => (some.length === 0 ? 'none' : some.slice(0, 5).join('; '));

async function compare(what: string, remedy: string, lines: Sql, between: Between): Promise<string[]> {
  const { less, more } = await findDifference(lines, between);
  if (less.length + more.length === 0) return [];
  return [`The ${what} differ: ${remedy}. Only in the source: ${named(less)}. Only in the target: ${named(more)}.`];
}

/** Queued messages and campaigns name them; the target may have more of them. */
async function listMissing(what: string, lines: Sql, between: Between): Promise<string[]> {
  const { less } = await findDifference(lines, between);
  return less.length === 0 ? [] : [`The target lacks ${what}: add ${named(less)}.`];
}

/** What may exist once in a cell, and would be taken by the account. Rows that the account itself left there do not count. */
const TAKEN = (accountId: number) => [
  {
    what: 'user',
    own: sql`SELECT username AS name FROM app_user WHERE account_id = ${accountId}`,
    other: sql`SELECT username AS name FROM app_user WHERE account_id <> ${accountId}`,
  },
  {
    what: 'system_id of SMPP',
    own: sql`SELECT system_id AS name FROM smpp_credential WHERE account_id = ${accountId}`,
    other: sql`SELECT system_id AS name FROM smpp_credential WHERE account_id <> ${accountId}`,
  },
  {
    what: 'short name for single sign-on',
    own: sql`SELECT short_name AS name FROM single_sign_on WHERE account_id = ${accountId}`,
    other: sql`SELECT short_name AS name FROM single_sign_on WHERE account_id <> ${accountId}`,
  },
  {
    what: 'mail domain',
    own: sql`SELECT domain AS name FROM single_sign_on_domain WHERE account_id = ${accountId}`,
    other: sql`SELECT domain AS name FROM single_sign_on_domain WHERE account_id <> ${accountId}`,
  },
  {
    what: 'sender',
    own: sql`SELECT channel || ' ' || identity AS name FROM sender WHERE owner_id = ${accountId} AND identity IS NOT NULL`,
    other: sql`SELECT channel || ' ' || identity AS name FROM sender WHERE owner_id IS DISTINCT FROM ${accountId} AND identity IS NOT NULL`,
  },
  {
    what: 'template',
    own: sql`SELECT channel || ' ' || id AS name FROM template WHERE owner_id = ${accountId}`,
    other: sql`SELECT channel || ' ' || id AS name FROM template WHERE owner_id IS DISTINCT FROM ${accountId}`,
  },
  {
    what: 'number for inbound messages',
    own: sql`SELECT c.name || ' ' || n.number AS name FROM inbound_number n JOIN connection c ON c.id = n.connection_id WHERE n.account_id = ${accountId}`,
    other: sql`SELECT c.name || ' ' || n.number AS name FROM inbound_number n JOIN connection c ON c.id = n.connection_id WHERE n.account_id <> ${accountId}`,
  },
];

async function listTaken({ source, target, accountId }: Between): Promise<string[]> {
  const lists = await Promise.all(
    TAKEN(accountId).map(async ({ what, own, other }) => {
      const [mine, theirs] = await Promise.all([
        many<{ name: string }>(source.pool, own),
        many<{ name: string }>(target.pool, other),
      ]);
      const taken = new Set(theirs.map(({ name }) => name));
      return mine
        .filter(({ name }) => taken.has(name))
        .map(({ name }) => `The target has the ${what} ${name} already: remove or rename it there.`);
    }),
  );
  return lists.flat();
}
