import { secretOf } from '../network/connections/save.ts';
import { listConnections } from '../network/connections/sql.ts';
import { ALL_ROUTES } from '../network/routing/sql.ts';
import { type Db, many, one, type Sql, sql } from '../platform/db/query.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import type { ConnectionIds } from './copy.ts';

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
  prices: sql`SELECT concat_ws(' ', channel, coalesce(nullif(prefix, ''), '*'), unit_micros, refund_undelivered) AS line
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
