import type { Pool } from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { databaseUrl, TEMPLATE } from '../../../test/support/cluster.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { OTHER_VERSIONS } from '../../../test/support/other-versions.ts';
import { dumpSchema } from '../../../test/support/schema-dump.ts';
import { startTestCluster } from '../../../test/support/test-cluster.ts';
import { isUuid, newId, timeOfId } from '../ids.ts';
import { silentLog } from '../log.ts';
import { createPool } from './pool.ts';
import { many, one, sql, timeOf } from './query.ts';

const UUIDV7 = /CREATE OR REPLACE FUNCTION uuidv7\(.*?\$function\$;\n+/s;

/** A database on the version that comes with the program. */
const usual = testDatabase();

describe.each(OTHER_VERSIONS)('on PostgreSQL %i', (version) => {
  let cluster: Awaited<ReturnType<typeof startTestCluster>>;
  let pool: Pool;
  beforeAll(async () => {
    cluster = await startTestCluster(`heliograph-test-${process.pid}-`, version);
    pool = createPool(databaseUrl(cluster.url, TEMPLATE), { max: 2, applicationName: 'test', log: silentLog });
  });
  afterAll(async () => {
    await pool.end();
    await cluster[Symbol.asyncDispose]();
  });

  test('all migrations lead to the same schema, with the function uuidv7 that the server lacks', async () => {
    const { major } = await one<{ major: number }>(
      pool,
      sql`SELECT current_setting('server_version_num')::int / 10000 AS major`,
    );
    const schema = await dumpSchema(pool);
    expect(major).toBe(version);
    expect(schema).toMatch(UUIDV7);
    expect(schema.replace(UUIDV7, '').trimEnd()).toBe((await dumpSchema(usual.pool)).trimEnd());
  });

  test('uuidv7 makes UUIDs of version 7 that ascend, also inside a statement, and have the time', async () => {
    const before = Date.now();
    const rows = await many<{ id: string }>(pool, sql`SELECT uuidv7() AS id FROM generate_series(1, 20000)`);
    const ids = rows.map(({ id }) => id);
    expect(ids.every((id) => isUuid(id) && id[14] === '7' && /[89ab]/.test(id.charAt(19)))).toBe(true);
    expect(ids).toEqual(ids.toSorted());
    expect(new Set(ids).size).toBe(ids.length);
    expect(timeOfId(ids[0] ?? '').getTime()).toBeGreaterThanOrEqual(before);
    expect(timeOfId(ids.at(-1) ?? '').getTime()).toBeLessThanOrEqual(Date.now());
  });

  test('uuidv7 can be moved to another time', async () => {
    const { id } = await one<{ id: string }>(pool, sql`SELECT uuidv7(interval '-1 day') AS id`);
    const ago = Date.now() - timeOfId(id).getTime();
    expect(Math.round(ago / 3_600_000)).toBe(24);
  });

  test('a statement reads the time of an id as the program does', async () => {
    const id = newId();
    expect(await one(pool, sql`SELECT ${timeOf(sql`${id}::uuid`)} AS at`)).toEqual({ at: timeOfId(id) });
  });
});
