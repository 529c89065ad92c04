import { expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { silentLog } from '../../platform/lib/log.ts';
import { openCell } from './cells.ts';

const { connectionString } = testDatabase();

test('the sessions that copy rows read the URL about TLS as all others do', async () => {
  const url = new URL(connectionString);
  // The driver's own way to read it would fail here, at a server without TLS.
  url.searchParams.set('sslmode', 'prefer');
  const cell = await openCell(0, url.href, silentLog);
  const session = await cell.openSession();
  expect((await session.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
  await Promise.all([session.end(), cell.close()]);
});

test('a database that does not answer is named by its cell', async () => {
  const opened = openCell(2, 'postgres://nobody@127.0.0.1:9/none', silentLog);
  await expect(opened).rejects.toThrow('Nothing answers at the address in CELL_DATABASES (cell 2)');
});
