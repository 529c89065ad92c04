import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { databaseUrl, runOn } from '../../../test/support/cluster.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import { createPool } from './pool.ts';
import { exec, many, one, onePlan, sql } from './query.ts';
import { ensureTenantRole, tenant, tenantTransaction } from './transaction.ts';

const database = testDatabase({ empty: true });
let pool: Pool;
beforeAll(async () => {
  // One connection: whatever a query leaves behind, the next one finds.
  pool = createPool(database.connectionString, { max: 1, applicationName: 'test', log: silentLog });
  await pool.query(`
    CREATE TABLE note (account_id bigint NOT NULL, id bigint NOT NULL, text text NOT NULL, PRIMARY KEY (account_id, id));
    GRANT SELECT, INSERT, UPDATE, DELETE ON note TO heliograph_tenant;
    ALTER TABLE note ENABLE ROW LEVEL SECURITY;
    CREATE POLICY tenant ON note USING (account_id = NULLIF(current_setting('app.account_id', true), '')::bigint);
    INSERT INTO note VALUES (1, 1, 'of one'), (2, 1, 'of two');
    CREATE TABLE account (id bigint PRIMARY KEY, away text);
    CREATE FUNCTION refuse_away(account bigint) RETURNS boolean LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'away' USING ERRCODE = '57HM1'; END $$;`);
});
afterAll(() => pool.end());

const [ONE, TWO, NOBODY] = [{ accountId: 1 }, { accountId: 2 }, { accountId: 99 }];
const ALL = sql`SELECT text FROM note ORDER BY account_id, id`;

test('a query without a WHERE finds only the rows of its account, and the owner still finds all', async () => {
  expect(await many(tenant(pool, ONE), ALL)).toEqual([{ text: 'of one' }]);
  expect(await many(pool, ALL)).toHaveLength(2);
  expect(await many(tenant(pool, TWO), ALL)).toEqual([{ text: 'of two' }]);
  expect(await many(tenant(pool, NOBODY), ALL)).toEqual([]);
});

test('a prepared statement is planned again for each role', async () => {
  const counted = () => onePlan(sql`SELECT count(*) AS n FROM note`);
  const asked = [];
  for (let round = 0; round < 8; round++)
    for (const db of [pool, tenant(pool, ONE), tenant(pool, NOBODY)]) asked.push((await many(db, counted()))[0]);
  expect(asked).toEqual(Array.from({ length: 8 }, () => [{ n: 2 }, { n: 1 }, { n: 0 }]).flat());
});

test('nothing of an account is left on the connection, even after a failure', async () => {
  await expect(many(tenant(pool, ONE), sql`SELECT 1 / 0`)).rejects.toThrow('division by zero');
  const [left] = await many(pool, sql`SELECT current_setting('app.account_id', true) AS account, current_user AS who`);
  expect(left).toEqual({ account: '', who: 'heliograph' });
});

test('a connection goes back to the pool after an error of the server, and is closed after any other error', async () => {
  const { pid } = await one<{ pid: number }>(pool, sql`SELECT pg_backend_pid() AS pid`);
  const session = () => one<{ pid: number }>(tenant(pool, ONE), sql`SELECT pg_backend_pid() AS pid`);
  await expect(many(tenant(pool, ONE), sql`SELECT 1 / 0`)).rejects.toThrow('division by zero');
  expect(await session()).toEqual({ pid });
  await expect(many(tenant(pool, ONE), sql`SELECT 9007199254740993::bigint`)).rejects.toThrow('does not fit a number');
  expect(await session()).not.toEqual({ pid });
});

test('a write to another account fails or affects nothing, and is rolled back', async () => {
  await expect(exec(tenant(pool, ONE), sql`INSERT INTO note VALUES (2, 7, 'forged')`)).rejects.toThrow('row-level');
  await expect(exec(tenant(pool, ONE), sql`UPDATE note SET account_id = 2, id = 8`)).rejects.toThrow('row-level');
  expect(await exec(tenant(pool, ONE), sql`UPDATE note SET text = 'forged' WHERE account_id = 2`)).toBe(0);
  expect(await exec(tenant(pool, ONE), sql`DELETE FROM note WHERE account_id = 2`)).toBe(0);
  expect(await many(pool, ALL)).toEqual([{ text: 'of one' }, { text: 'of two' }]);
});

test('a transaction has the rights of its account, and commits or rolls back as a whole', async () => {
  const add = (id: number) => sql`INSERT INTO note VALUES (1, ${id}, 'more')`;
  const inside = await tenantTransaction(pool, ONE, async (tx) => {
    await exec(tx, add(2));
    return many(tx, ALL);
  });
  expect(inside).toEqual([{ text: 'of one' }, { text: 'more' }]);
  const failing = tenantTransaction(pool, ONE, async (tx) => {
    await exec(tx, add(3));
    await exec(tx, sql`INSERT INTO note VALUES (2, 3, 'forged')`);
  });
  await expect(failing).rejects.toThrow('row-level');
  expect(await exec(tenant(pool, ONE), sql`DELETE FROM note WHERE id > 1`)).toBe(1);
});

test('without a connection the query fails, and the work of a transaction is not begun', async () => {
  const away = createPool('postgres://nobody@127.0.0.1:1/none', { max: 1, applicationName: 'test', log: silentLog });
  await expect(many(tenant(away, ONE), ALL)).rejects.toThrow('ECONNREFUSED');
  const work = () => Promise.reject(new Error('begun'));
  await expect(tenantTransaction(away, ONE, work)).rejects.toThrow('ECONNREFUSED');
  await away.end();
});

test('the error for a database user who may not use the role contains the statement that permits it', async () => {
  const user = `plain_${randomBytes(4).toString('hex')}`;
  const clusterUrl = inject('clusterUrl');
  await runOn(clusterUrl, `CREATE ROLE ${user} LOGIN PASSWORD 'plain'`);
  const url = new URL(databaseUrl(clusterUrl, new URL(database.connectionString).pathname.slice(1)));
  Object.assign(url, { username: user, password: 'plain' });
  const plain = createPool(url.href, { max: 1, applicationName: 'test', log: silentLog });
  const grant = `GRANT heliograph_tenant TO ${user}`;
  await expect(ensureTenantRole(plain)).rejects.toThrow(grant);
  await runOn(clusterUrl, grant);
  await ensureTenantRole(plain);
  expect(await many(plain, sql`SELECT pg_has_role('heliograph_tenant', 'SET') AS may`)).toEqual([{ may: true }]);
  await plain.end();
  await runOn(clusterUrl, `DROP ROLE ${user}`);
});
