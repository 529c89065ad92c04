import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import * as faults from './in-database.ts';

const { pool } = testDatabase();

test.each(Object.entries(faults))('the fault %s fits the schema', async (_, statements) => {
  const client = await pool.connect();
  await client.query('BEGIN');
  await expect(client.query(statements)).resolves.toBeDefined();
  await client.query('ROLLBACK');
  client.release();
});
