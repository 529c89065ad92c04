import { expect, onTestFinished, test } from 'vitest';
import { countLockWaits } from '../../../test/support/lock-waits.ts';
import { listChunks, queueMessages } from '../../../test/support/queue.ts';
import { openTwoCells } from '../../../test/support/two-cells.ts';
import { until } from '../../../test/support/until.ts';
import { many, sql } from '../../platform/db/query.ts';
import { createAccount } from '../accounts/create.ts';
import { prepare } from './leave.ts';

test('a pump that returns the chunks of the account in another order does not end its move', async () => {
  await using cells = await openTwoCells();
  const { a, mainOfA } = cells;
  const { accountId } = await createAccount(a.pool, { name: 'Acme', plan: 'production' });
  await queueMessages(a.pool, { accountId, connectionId: mainOfA, count: 2, size: 1 });
  const pump = await a.openSession();
  onTestFinished(() => pump.end());
  const [first, second] = (await listChunks(a.pool)).map(({ id }) => id);
  const take = (id: unknown) => pump.query('UPDATE dispatch_chunk SET owner = NULL WHERE id = $1', [id]);
  await pump.query('BEGIN');
  await take(second);
  const prepared = prepare(a.pool, { accountId, cell: 1, hasDirectory: false, thenSeconds: 60 });
  // Whoever has waited longer finds the deadlock, and is ended: not the pump.
  await until('the chunks to be waited for', async () => (await countLockWaits(a.pool)) === 1);
  await take(first);
  await pump.query('COMMIT');
  await prepared;
  expect(await many(a.pool, sql`SELECT FROM dispatch_chunk WHERE parked_until IS NULL`)).toEqual([]);
});
