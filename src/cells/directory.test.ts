import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Pool } from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { until } from '../../test/support/until.ts';
import { generateKeyValue } from '../accounts/api-keys.ts';
import { ensureCell } from '../core/db/migrate.ts';
import { exec, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { createAccount, type NewAccount } from '../operate/account-commands.ts';
import {
  type Caller,
  type Cells,
  createCells,
  createDirectory,
  type Directory,
  followPlacements,
  listMovedAccounts,
  openDirectory,
  updateCell,
} from './directory.ts';

const own = testDatabase({ empty: true });
const [first, second] = [testDatabase(), testDatabase()];
let db: Pool;
let placements: Awaited<ReturnType<typeof followPlacements>>;
let accounts: [NewAccount, NewAccount];
const open: Cells[] = [];

beforeAll(async () => {
  await ensureCell(second.pool, 1);
  accounts = [await newAccount(first.pool, 'One'), await newAccount(second.pool, 'Two')];
  db = await openDirectory(own.connectionString, silentLog);
  placements = await followPlacements(db, silentLog);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((cells) => cells.close()));
});
afterAll(async () => {
  await placements.close();
  await db.end();
});

const newAccount = (pool: Pool, name: string): Promise<NewAccount> => createAccount(pool, { name, plan: 'unlimited' });

function directoryOf(databases: Readonly<Record<number, string>>): { directory: Directory; cells: Cells } {
  const cells = createCells(
    new Map(Object.entries(databases).map(([cell, url]) => [Number(cell), url])),
    silentLog,
    PATIENT_MS,
  );
  open.push(cells);
  return { cells, directory: createDirectory(cells, placements) };
}
const both = () => directoryOf({ 0: first.connectionString, 1: second.connectionString }).directory;
/** Timeout for a machine that is busy with other work. */
const PATIENT_MS = 90_000;
const NOWHERE = 'postgres://nobody@127.0.0.1:9/none';

const hashed = (text: string): Caller => ({ kind: 'hash', id: createHash('sha256').update(text).digest('hex') });
const user = (id: string): Caller => ({ kind: 'user', id });

test('a key works from its first use on, and goes to the cell of its account', async () => {
  const directory = both();
  expect(await directory.find(hashed(accounts[0].apiKey))).toBe(0);
  expect(await directory.find(hashed(accounts[1].apiKey))).toBe(1);
  const later = await newAccount(second.pool, 'Later');
  expect(await directory.find(hashed(later.apiKey))).toBe(1);
  expect(directory.knownCount()).toBe(3);
});

test('users and tokens of every kind go to the cell of their account', async () => {
  const directory = both();
  const { pool } = second;
  const { accountId, username } = accounts[1];
  const { id } = await one<{ id: number }>(pool, sql`SELECT id FROM app_user WHERE username = ${username}`);
  const tokens = Array.from({ length: 5 }, () => randomBytes(32));
  await exec(
    pool,
    sql`INSERT INTO user_session (account_id, user_id, token_hash) VALUES (${accountId}, ${id}, ${tokens[0]})`,
  );
  await exec(
    pool,
    sql`INSERT INTO pending_sign_in (account_id, user_id, token_hash) VALUES (${accountId}, ${id}, ${tokens[1]})`,
  );
  await exec(
    pool,
    sql`INSERT INTO invitation (account_id, email, role, token_hash, expires_at) VALUES (${accountId}, 'a@b.example', 'viewer', ${tokens[2]}, now())`,
  );
  await exec(
    pool,
    sql`INSERT INTO password_reset (account_id, user_id, hash, expires_at) VALUES (${accountId}, ${id}, ${tokens[3]}, now())`,
  );
  await exec(
    pool,
    sql`INSERT INTO social_state (account_id, hash, platform, author, expires_at) VALUES (${accountId}, ${tokens[4]}, 'facebook', '{}', now())`,
  );
  for (const token of tokens) expect(await directory.find({ kind: 'hash', id: token.toString('hex') })).toBe(1);
  expect(await directory.find(user(username))).toBe(1);
  await exec(
    pool,
    sql`INSERT INTO single_sign_on (account_id, short_name, issuer, client_id, scopes)
      VALUES (${accountId}, 'two', 'https://login.example', 'c', '{openid}')`,
  );
  await exec(pool, sql`INSERT INTO single_sign_on_claim (domain, account_id) VALUES ('two.example', ${accountId})`);
  await exec(pool, sql`INSERT INTO single_sign_on_domain (domain, account_id) VALUES ('two.example', ${accountId})`);
  for (const name of ['two', 'two.example']) expect(await directory.find({ kind: 'company', id: name })).toBe(1);
});

test('the rights that the page gives the directory suffice', async () => {
  const page = await readFile(new URL('../../docs/how-to/cells.md', import.meta.url), 'utf8');
  const role = `heliograph_directory_${process.pid}`;
  const statements = /```sql\n(.*?)```/s.exec(page)?.[1]?.replaceAll('heliograph_directory', role) ?? '';
  const { pool, connectionString } = second;
  await pool.query(statements);
  try {
    const url = new URL(connectionString);
    url.searchParams.set('options', `-c role=${role}`);
    const { directory, cells } = directoryOf({ 1: url.href });
    expect(await directory.find(hashed(accounts[1].apiKey))).toBe(1);
    expect(await directory.find(user(accounts[1].username))).toBe(1);
    expect(await directory.find({ kind: 'company', id: 'two.example' })).toBe(1);
    expect(cells.silent()).toEqual([]);
  } finally {
    await pool.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

test('a caller whom no cell knows goes to any of them, and is not remembered', async () => {
  const directory = both();
  const unknown = Array.from({ length: 3000 }, () => hashed(generateKeyValue().value));
  const answers = await Promise.all(unknown.map((caller) => directory.find(caller)));
  expect(answers.filter((answer) => answer !== 'any')).toEqual([]);
  expect(await directory.find(user('nobody'))).toBe('any');
  expect(await directory.find({ kind: 'unknown' })).toBe('any');
  expect(await directory.find({ kind: 'account', accountId: 700 * 2 ** 40 }), 'of no cell').toBe('any');
  expect(directory.knownCount()).toBe(0);
});

test('while a cell is away the callers of the others are found, and only unknown callers are asked to retry', async () => {
  const { directory, cells } = directoryOf({ 0: NOWHERE, 1: second.connectionString });
  expect(await directory.find(hashed(accounts[1].apiKey))).toBe(1);
  expect(await directory.find(user(accounts[1].username))).toBe(1);
  expect(await directory.find(hashed(accounts[0].apiKey))).toBe('later');
  expect(cells.silent()).toEqual([0]);
});

test('a known caller stays known when the cell is lost', async () => {
  const lost = directoryOf({ 0: first.connectionString });
  expect(await lost.directory.find(hashed(accounts[0].apiKey))).toBe(0);
  await lost.cells.close();
  open.length = 0;
  expect(await lost.directory.find(hashed(accounts[0].apiKey))).toBe(0);
});

test('the requests of an account go to its new cell, and a move that ends late does not undo a later one', async () => {
  const directory = both();
  const { accountId } = accounts[0];
  const ask = () => directory.find({ kind: 'account', accountId });
  expect(await ask()).toBe(0);
  await updateCell(db, { accountId, cell: 1, moves: 1 });
  await until('the new cell', async () => (await ask()) === 1);
  await updateCell(db, { accountId, cell: 0, moves: 2 });
  await until('the way back', async () => (await ask()) === 0);
  await updateCell(db, { accountId, cell: 1, moves: 1 });
  expect((await listMovedAccounts(db)).get(accountId)).toBe(0);
});
