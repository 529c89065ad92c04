import type { Pool } from 'pg';
import type { Stage } from '../stage.ts';
import { MAKERS, type Party, type Thing, THING_NAMES, type ThingName } from './things.ts';

/** Ids of all tables begin here: none is a number that an answer holds for another reason, and none is two things' . */
const FIRST_ID = 5_000_000_000;
const IDS_A_TABLE = 1_000_000;

/** Makes the numeric ids of each table a range of their own, far from all other numbers. */
export async function spreadIds(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ name: string; column: string }>(
    `SELECT c.oid::regclass::text AS name, a.attname AS column
       FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attidentity <> ''
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1`,
  );
  for (const [n, { name, column }] of rows.entries())
    await pool.query(`ALTER TABLE ${name} ALTER COLUMN ${column} RESTART WITH ${FIRST_ID + (n + 1) * IDS_A_TABLE}`);
}

/** Three accounts that know nothing of each other, without things yet. */
export async function openParties(stage: Stage): Promise<[Party, Party, Party]> {
  const open = async (token: string): Promise<Party> => {
    const { accountId, client } = await stage.newAccount({ plan: 'unlimited' });
    await stage.pool.query('UPDATE account SET name = $2 WHERE id = $1', [accountId, `${token} ltd`]);
    return { accountId, token, client, pool: stage.pool, things: new Map() };
  };
  return [await open('quokka'), await open('numbat'), await open('wombat')];
}

/**
 * With new things of these kinds, whatever has become of earlier ones. One that cannot be made is told of to `failed`, if
 * there is one, and an unknown one stands for it.
 */
export async function furnished(
  party: Party,
  names: readonly ThingName[] = THING_NAMES,
  failed: (error: Error) => void = refuse,
): Promise<Party> {
  const things = new Map<ThingName, Thing>();
  for (const name of names) {
    const made = await MAKERS[name].make(party).catch(failed);
    things.set(name, made ?? MAKERS[name].unknown());
  }
  return { ...party, things };
}

function refuse(error: Error): never {
  throw error;
}

/** An id of this kind that this party has. */
export function ownThing({ things }: Party, name: ThingName): Thing {
  const thing = things.get(name);
  if (thing === undefined) throw new Error(`no ${name}`);
  return thing;
}

/**
 * Everything that is stored of an account, one line a row, as far as only its owner changes it: `last_used_at` is
 * written some time after the use.
 */
export async function rowsOfAccount({ pool, accountId }: Pick<Party, 'pool' | 'accountId'>): Promise<string[]> {
  const { rows } = await pool.query<{ row: string }>(await statementFor(pool), [accountId]);
  return rows.map(({ row }) => row);
}

const statements = new WeakMap<Pool, Promise<string>>();

function statementFor(pool: Pool): Promise<string> {
  const made = statements.get(pool) ?? makeStatement(pool);
  statements.set(pool, made);
  return made;
}

async function makeStatement(pool: Pool): Promise<string> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id'
      WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const sources = [
    ...tables.map(({ name }) => `${name} t WHERE account_id = $1`),
    // Rows without an owner are everybody's.
    ...['sender', 'template'].map((name) => `${name} t WHERE owner_id = $1`),
    'account t WHERE id = $1',
    'api_key_value t WHERE api_key_id IN (SELECT id FROM api_key WHERE account_id = $1)',
  ];
  const parts = sources.map(
    (from) => `SELECT '${from.split(' ', 1)[0]} ' || (to_jsonb(t) - 'last_used_at')::text AS row FROM ${from}`,
  );
  return `${parts.join(' UNION ALL ')} ORDER BY 1`;
}

const MARKS = /\b[5-9]\d{9}\b|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** Every id that stands in the rows of an account, and its token. */
export async function marksOf(party: Party): Promise<Set<string>> {
  const rows = await rowsOfAccount(party);
  return new Set([party.token, ...rows.flatMap((row) => row.match(MARKS) ?? [])]);
}
