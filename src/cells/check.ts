import { secretOf } from '../network/connections/save.ts';
import { listConnections } from '../network/connections/sql.ts';
import { ALL_ROUTES } from '../network/routing/sql.ts';
import { isServedHere } from '../identity/accounts/away.ts';
import { type Db, many, maybeOne, one, type Sql, sql } from '../platform/db/query.ts';
import { endsWithin } from '../platform/lib/background/ends-within.ts';
import { silentLog } from '../platform/lib/log.ts';
import type { SecretKey } from '../platform/lib/secret-box.ts';
import type { Cell, ConnectionIds } from './copy.ts';
import { openCell } from './copy.ts';

/** Returns the id in the target of each connection of the source, by kind and name; those that the target lacks are left out. */
export async function matchConnections(source: Db, target: Db): Promise<ConnectionIds> {
  const list = (db: Db) =>
    many<{ id: number; name: string }>(db, sql`SELECT id, kind || ' ' || name AS name FROM connection`);
  const [here, there] = await Promise.all([list(source), list(target)]);
  const ids = new Map(there.map(({ id, name }) => [name, id]));
  return new Map(here.flatMap(({ id, name }) => (ids.has(name) ? [[id, ids.get(name) ?? 0] as const] : [])));
}

/** What must be the same in two cells between which accounts move, as lines. Of `shared`, the target may have more. */
const COMPARED: readonly { readonly what: string; readonly lines: Sql; readonly shared?: true }[] = [
  { what: 'migrations', lines: sql`SELECT name || ' ' || left(sha256, 8) AS line FROM schema_migration` },
  { what: 'connections', shared: true, lines: sql`SELECT kind || ' ' || name AS line FROM connection` },
  {
    what: 'routes',
    lines: sql`SELECT concat_ws(' ', r.channel, coalesce(nullif(r.prefix, ''), '*'), c.name, r.priority, r.on_unknown,
        'weight ' || r.weight, 'network ' || r.network, 'account ' || r.owner_id, 'sender ' || r.sender, r.hours) AS line
      FROM ${ALL_ROUTES} AS r JOIN connection c ON c.id = r.connection_id`,
  },
  {
    what: 'prices',
    lines: sql`SELECT concat_ws(' ', channel, coalesce(nullif(prefix, ''), '*'), unit_micros, refund_undelivered) AS line FROM price`,
  },
  {
    what: 'senders of all accounts',
    shared: true,
    lines: sql`SELECT channel || ' ' || identity AS line FROM sender WHERE owner_id IS NULL`,
  },
  {
    what: 'templates of all accounts',
    shared: true,
    lines: sql`SELECT concat_ws(' ', channel, id, left(md5(content::text), 8)) AS line FROM template WHERE owner_id IS NULL`,
  },
];

/** Lists what of the settings of two cells differs so that accounts cannot move from one to the other, one sentence each. */
export async function listDifferences(source: Db, target: Db): Promise<string[]> {
  const named = (some: readonly string[]): string => (some.length === 0 ? 'none' : some.slice(0, 5).join('; '));
  const sentences = COMPARED.map(async ({ what, lines, shared }) => {
    const [here, there] = await Promise.all(
      [source, target].map(async (db) => new Set((await many<{ line: string }>(db, lines)).map(({ line }) => line))),
    );
    const less = [...(here?.difference(there ?? new Set()) ?? [])];
    const more = shared ? [] : [...(there?.difference(here ?? new Set()) ?? [])];
    if (less.length + more.length === 0) return [];
    return [`The ${what} differ. Only in the source: ${named(less)}. Only in the target: ${named(more)}.`];
  });
  return (await Promise.all(sentences)).flat();
}

type Wanted = {
  readonly source: Db;
  readonly target: Db;
  readonly accountId: number;
  readonly secretKey: SecretKey;
  /** Whether the files of the account are where the target finds them. */
  readonly filesAreThere: boolean;
};

/** Lists what must be put right before an account can move, one sentence each. Names that are taken fail the copy. */
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
      ({ username }) => `${username} is an operator of the source: take that away, or use another account.`,
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

/** What there is to say about one cell; figures are undefined when it does not answer. */
export type CellState = {
  readonly cell: number;
  /** What is wrong, as sentences. */
  readonly faults: readonly string[];
  /** How many accounts it serves, and how many messages wait in its queue. */
  readonly accounts?: number;
  readonly waiting?: number;
};

const ANSWER_MS = 5000;

/** Asks the databases of all cells at once. Each is compared with the first one that answers. */
export async function examineCells(databases: ReadonlyMap<number, string>): Promise<CellState[]> {
  await using opened = new AsyncDisposableStack();
  const cells = await Promise.all(
    [...databases].map(async ([number, url]) => {
      const opening = openCell(number, url, silentLog).then((cell) => opened.adopt(cell, ({ close }) => close()));
      if (
        !(await endsWithin(
          opening.catch(() => undefined),
          ANSWER_MS,
        ))
      )
        return { number, why: `no answer within ${ANSWER_MS} ms` };
      return opening.catch((error: unknown) => ({ number, why: String(error) }));
    }),
  );
  const model = cells.find((cell): cell is Cell => 'pool' in cell);
  return Promise.all(
    cells.map(async (cell) =>
      'pool' in cell ? examine(cell, model ?? cell) : { cell: cell.number, faults: [`does not answer: ${cell.why}`] },
    ),
  );
}

async function examine({ number, pool }: Cell, model: Cell): Promise<CellState> {
  const own = await maybeOne<{ number: number }>(pool, sql`SELECT number FROM cell`);
  if (own?.number !== number)
    return { cell: number, faults: [`says that it is cell ${own?.number}: correct CELL_DATABASES`] };
  const figures = await one<{ accounts: number; waiting: number; down: number }>(
    pool,
    sql`SELECT (SELECT count(*) FROM account a WHERE ${isServedHere(sql`a.id`)}) AS accounts,
          (SELECT coalesce(sum(size - intent), 0) FROM dispatch_chunk)::bigint AS waiting,
          (SELECT count(*) FROM connection_down d JOIN connection c ON c.id = d.connection_id
           WHERE c.status = 'active') AS down`,
  );
  const { accounts, waiting, down } = figures;
  const faults = model.number === number ? [] : await listDifferences(model.pool, pool);
  return {
    cell: number,
    accounts,
    waiting,
    faults: [...faults, ...(down > 0 ? [`has ${down} connections down`] : [])],
  };
}
