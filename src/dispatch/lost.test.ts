import { randomInt } from 'node:crypto';
import { beforeEach, expect, test } from 'vitest';
import { createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { listChunks, queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { loadJobs } from '../messages/load.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { checkQueue } from '../operate/doctor.ts';
import { countLost } from './claims.ts';
import { startPump } from './pump.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, dispatch_chunk, lost_chunk`));

/** Sends the whole queue. Returns the messages that were sent, and the errors that were logged. */
async function sendAll(mayBeGone?: (messageId: string) => boolean) {
  const carrier = createScriptedCarrier();
  const errors: object[] = [];
  const pump = startPump({
    pool,
    connectionId: 1,
    owner: randomInt(1, 2 ** 47),
    tps: 0,
    carrier,
    load: (chunks) => loadJobs(pool, chunks),
    settle: settleOutcomes,
    wakeOther: () => undefined,
    log: { ...silentLog, error: (fields) => void errors.push(fields) },
    ...(mayBeGone && { mayBeGone }),
  });
  carrier.onChange = pump.wake;
  await until('the queue is empty', async () => (await listChunks(pool)).length === 0);
  await pump.stop(300);
  return { sent: carrier.submitted, errors };
}

const removeMessages = (ids: readonly string[]) => exec(pool, sql`DELETE FROM message WHERE id = ANY(${ids}::uuid[])`);
const lostIds = async () =>
  (await many<{ ids: string[] }>(pool, sql`SELECT ids FROM lost_chunk`)).map(({ ids }) => ids);

test('a chunk whose messages are not found is kept, logged as an error, counted, and named by doctor', async () => {
  const ids = await queueMessages(pool, { count: 3, campaignId: 5 });
  await removeMessages(ids);
  expect(await checkQueue(pool)).toMatchObject({ ok: true });
  const { sent, errors } = await sendAll();
  expect(sent).toEqual([]);
  expect(await many(pool, sql`SELECT account_id, connection_id, campaign_id, priority, ids FROM lost_chunk`)).toEqual([
    { account_id: 1, connection_id: 1, campaign_id: 5, priority: 1, ids },
  ]);
  expect(errors).toEqual([{ connectionId: 1, messages: 3, messageId: ids[0] }]);
  expect(await countLost(pool)).toEqual([{ connectionId: 1, messages: 3 }]);
  expect(await checkQueue(pool)).toMatchObject({ ok: false, detail: expect.stringContaining('3 messages') });
});

test('of a chunk with some messages that are not found, the others are sent', async () => {
  const ids = await queueMessages(pool, { count: 5 });
  await removeMessages(ids.slice(1, 3));
  const { sent } = await sendAll();
  expect(sent).toEqual([0, 3, 4].map((n) => ids[n]));
  expect(await lostIds()).toEqual([ids.slice(1, 3)]);
});

test('messages older than the retention are left out of the queue without a word', async () => {
  const old = await queueMessages(pool, { count: 2 });
  const young = await queueMessages(pool, { count: 2 });
  await removeMessages([...old, ...young]);
  const { errors } = await sendAll((id) => old.includes(id));
  expect(await lostIds()).toEqual([young]);
  expect(errors).toHaveLength(1);
});
