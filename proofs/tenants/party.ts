import type { Pool } from 'pg';
import type { Stage } from '../lib/stage.ts';
import { MAKERS, type Party, THING_NAMES, type Thing, type ThingName } from './things.ts';

/** The first numeric id: no number in a response is an id by chance, and no id belongs to two things. */
const FIRST_ID = 5_000_000_000;
const IDS_PER_TABLE = 1_000_000;

/** Gives the numeric ids of each table a separate range, far from all other numbers. */
export async function spreadIds(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; column: string }>(
    `SELECT c.oid::regclass::text AS name, a.attname AS column
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  for (const [n, { name, column }] of rows.entries())
    await pool.query(`ALTER TABLE ${name} ALTER COLUMN ${column} RESTART WITH ${FIRST_ID + (n + 1) * IDS_PER_TABLE}`);
}

/** Opens three accounts that know nothing of each other, without things. */
export async function openParties(stage: Stage): Promise<[Party, Party, Party]> {
  const open = async (token: string): Promise<Party> => {
    const { accountId, client } = await stage.newAccount({ plan: 'unlimited' });
    await stage.pool.query('UPDATE account SET name = $2 WHERE id = $1', [accountId, `${token} ltd`]);
    return { accountId, token, client, pool: stage.pool, things: new Map() };
  };
  return [await open('quokka'), await open('numbat'), await open('wombat')];
}

/** Removes earlier things of the kinds of which an account may have only a few. */
export async function makeRoom({ pool, accountId }: Party): Promise<void> {
  await pool.query('DELETE FROM verify_service WHERE account_id = $1', [accountId]);
  await pool.query(`DELETE FROM webhook_endpoint WHERE account_id = $1 AND form = 'V2'`, [accountId]);
}

/**
 * Returns the party with new things of these kinds, whatever has become of earlier ones. If a thing cannot be made,
 * calls `failed` and uses an unknown id in its place; without `failed`, throws.
 */
export async function withThings(
  party: Party,
  names: readonly ThingName[] = THING_NAMES,
  failed: (error: Error) => void = rethrow,
): Promise<Party> {
  const things = new Map<ThingName, Thing>();
  for (const name of names) {
    const made = await MAKERS[name].make(party).catch(failed);
    things.set(name, made ?? MAKERS[name].unknown());
  }
  return { ...party, things };
}

function rethrow(error: Error): never {
  throw error;
}

/** Returns the party's thing of this kind. Throws if there is none. */
export function ownThing({ things }: Party, name: ThingName): Thing {
  const thing = things.get(name);
  if (thing === undefined) throw new Error(`no ${name}`);
  return thing;
}

/**
 * Returns everything that is stored of an account, one text per row. The times of the last use of keys and sessions are
 * left out: they are written some time after the use.
 */
export async function rowsOfAccount({ pool, accountId }: Pick<Party, 'pool' | 'accountId'>): Promise<string[]> {
  const { rows } = await pool.query<{ row: string }>({
    // Planned once a session: planning the statement takes longer than running it.
    name: 'rows-of-account',
    text: await statementFor(pool),
    values: [accountId],
  });
  return rows.map(({ row }) => row);
}

const statements = new WeakMap<Pool, Promise<string>>();

function statementFor(pool: Pool): Promise<string> {
  const statement = statements.get(pool) ?? makeStatement(pool);
  statements.set(pool, statement);
  return statement;
}

async function makeStatement(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const sources = [
    ...tables.map(({ name }) => `${name} t WHERE account_id = $1`),
    // Rows without an owner belong to all.
    ...['sender', 'template'].map((name) => `${name} t WHERE owner_id = $1`),
    'account t WHERE id = $1',
    'api_key_value t WHERE api_key_id IN (SELECT id FROM api_key WHERE account_id = $1)',
  ];
  const parts = sources.map(
    (from) =>
      `SELECT '${from.split(' ', 1)[0]} ' || (to_jsonb(t) - 'last_used_at' - 'last_seen_at')::text AS row FROM ${from}`,
  );
  return `${parts.join(' UNION ALL ')} ORDER BY 1`;
}

const MARKS = /\b[5-9]\d{9}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Returns every id in the rows of an account, and its token. */
export async function marksOf(party: Party): Promise<Set<string>> {
  const rows = await rowsOfAccount(party);
  return new Set([party.token, ...rows.flatMap((row) => row.match(MARKS) ?? [])]);
}
