import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { openVerifyStage } from '../../test/support/verify.ts';
import { DAY_MS, MINUTE_MS } from '../core/time.ts';
import { listConversionDrops } from './conversion-drops.ts';
import { addToCounters } from './counters.ts';

const { pool } = testDatabase();

test('an account is listed with the country where its users enter fewer codes than usual', async () => {
  const { accountId, service } = await openVerifyStage(pool);
  await service();
  const ago = (ms: number): Date => new Date(Date.now() - ms);
  const add = (country: string, at: Date, sent: number, approved: number) =>
    addToCounters(pool, [{ accountId, keys: new Map([['country', country]]), at, sent, approved }]);
  for (const country of ['IT', 'FR', 'ES', 'plain/IT']) await add(country, ago(3 * DAY_MS), 200, 160);
  await add('IT', ago(20 * MINUTE_MS), 30, 14);
  await add('FR', ago(20 * MINUTE_MS), 30, 20);
  await add('ES', ago(20 * MINUTE_MS), 29, 0);
  await add('plain/IT', ago(20 * MINUTE_MS), 100, 0);
  // Too young to know whether they are entered.
  await add('FR', ago(MINUTE_MS), 500, 0);
  const drops = await listConversionDrops(pool, { points: 30 });
  expect(drops).toMatchObject([{ subjectId: accountId, detail: 'IT', count: 47, compared: 80 }]);
  expect(await listConversionDrops(pool, { points: 40 })).toEqual([]);
});
