import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { runOn } from '../../../test/support/cluster.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../log.ts';
import { findMissingRights } from './migrate.ts';
import { createPool } from './pool.ts';
import type { Db } from './query.ts';

const database = testDatabase();
const user = `weak_${randomBytes(4).toString('hex')}`;
let weak: Db & { end(): Promise<void> };

beforeAll(async () => {
  await runOn(inject('clusterUrl'), `CREATE ROLE ${user} LOGIN PASSWORD 'secret'`);
  const url = new URL(database.connectionString);
  [url.username, url.password] = [user, 'secret'];
  weak = createPool(url.href, { max: 1, applicationName: 'test', log: silentLog });
});
afterAll(async () => {
  await weak.end();
  await runOn(database.connectionString, `DROP OWNED BY ${user}`);
  await runOn(inject('clusterUrl'), `DROP ROLE ${user}`);
});

test('the owner of the database lacks nothing', async () => {
  expect(await findMissingRights(database.pool)).toEqual([]);
});

test('what another user lacks is named with the statement that gives it, and is gone after that', async () => {
  const missing = await findMissingRights(weak);
  expect(missing.map(({ what }) => what)).toEqual([
    'to create tables in public',
    expect.stringMatching(/^to change \d+ tables and sequences of another owner$/),
    'to enter the role heliograph_tenant',
  ]);
  const [create, , enter] = missing.map(({ cure }) => cure);
  await runOn(database.connectionString, create ?? '');
  await runOn(database.connectionString, enter ?? '');
  expect(await findMissingRights(weak)).toEqual([missing[1]]);
});
