import { beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit } from '../../test/support/money.ts';
import { queueMessages } from '../../test/support/queue.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { firstIdAt } from '../core/ids.ts';
import { findGuardStatus, listWaiting, moveToPaused } from '../messages/restore-guard.ts';
import { discardQueued } from './restore-guard.ts';

const { pool } = testDatabase();

let accountId = 0;
beforeEach(async () => {
  await exec(pool, sql`DELETE FROM dispatch_chunk`);
  await exec(pool, sql`DELETE FROM message_fallback`);
  await exec(pool, sql`UPDATE restore_guard SET state = 'open'`);
  accountId = await createAccountWithCredit(pool, 0);
});

const discard = () => discardQueued(pool, { by: 'Ada', now: new Date() });

test('what is discarded is followed by no other channel, and what came later keeps its fallback', async () => {
  await moveToPaused(pool, { reason: 'test' });
  const { since } = await findGuardStatus(pool);
  const [before, after] = [firstIdAt(new Date(since.getTime() - 1)), firstIdAt(new Date(since.getTime() + 1))];
  for (const id of [before, after])
    await exec(
      pool,
      sql`INSERT INTO message_fallback (account_id, message_id, next_channels) VALUES (${accountId}, ${id}, '[]')`,
    );
  expect(await discard()).toBe(0);
  expect(await many(pool, sql`SELECT message_id AS id FROM message_fallback`)).toEqual([{ id: after }]);
  expect(await findGuardStatus(pool)).toMatchObject({ state: 'confirmed', decidedBy: 'the operator Ada' });
});

test('nothing is discarded while sending is not paused', async () => {
  await queueMessages(pool, { accountId });
  await expect(discard()).rejects.toThrow('Sending is not paused');
  expect(await listWaiting(pool, { endId: firstIdAt(new Date(Date.now() + 1000)) })).toHaveLength(1);
});
