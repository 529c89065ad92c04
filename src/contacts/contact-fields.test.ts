import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { OWN_FIELDS } from './contact-fields.ts';

const { pool } = testDatabase();

test('each field that clients set is a column of the view for reports', async () => {
  const { fields } = await pool.query('SELECT * FROM v1_contact LIMIT 0');
  const names = fields.map(({ name }) => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()));
  expect(names).toEqual(expect.arrayContaining([...OWN_FIELDS]));
});
