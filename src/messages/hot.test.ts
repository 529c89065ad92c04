import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { until } from '../../test/support/until.ts';
import { many, sql } from '../core/db/query.ts';
import { boundsOf, newId } from '../core/ids.ts';
import { STATUS } from '../core/message-state.ts';
import { insertStates, moveStates } from './store.ts';

const { pool } = testDatabase();

const MESSAGES = 3000;
const words = (id: string): string =>
  `id:${id} sub:001 dlvrd:001 submit date:2611210101 done date:2611210102 stat:DELIVRD err:000 text:Your parcel arrives`;

/** Updates of states since the database was made: all, and those that touched no index. */
async function updates(): Promise<{ all: number; hot: number }> {
  const rows = await many<{ all: number; hot: number }>(
    pool,
    sql`SELECT sum(n_tup_upd)::int AS all, sum(n_tup_hot_upd)::int AS hot FROM pg_stat_user_tables
        WHERE relname LIKE 'message\_state\_2%'`,
  );
  return rows[0] ?? { all: 0, hot: 0 };
}

test('receipts with their texts update states in place: hardly any update touches an index', async () => {
  const ids = Array.from({ length: MESSAGES }, () => newId());
  const taken = { accountId: 1, status: STATUS.ACCEPTED, attempts: 1, connectionId: 1, submittedAt: new Date() };
  const none = {
    channel: 'SMS',
    campaignId: null,
    errorCode: null,
    errorText: null,
    creditHeld: false,
    creditReturned: false,
    possibleDuplicate: false,
  } as const;
  await insertStates(
    pool,
    ids.map((id) => ({ ...taken, ...none, id, carrierId: id.slice(-12) })),
  );
  const [firstId, lastId] = boundsOf(ids);
  const end = { accountId: 1, status: STATUS.DELIVERED, doneAt: new Date(), errorCode: '000', errorText: null };
  const moves = ids.map((id) => ({ ...end, id, receiptText: words(id.slice(-12)) }));
  for (let at = 0; at < MESSAGES; at += 500)
    await moveStates(pool, { moves: moves.slice(at, at + 500), firstId, lastId });
  const { all, hot } = await until('the statistics', async () => {
    await many(pool, sql`SELECT pg_stat_force_next_flush()`);
    const counted = await updates();
    return counted.all === MESSAGES && counted;
  });
  expect(hot / all).toBeGreaterThan(0.95);
});
