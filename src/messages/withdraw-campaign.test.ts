import { afterAll, beforeEach, expect, test } from 'vitest';
import { accepted, createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { many, sql } from '../core/db/query.ts';
import { transaction } from '../core/db/transaction.ts';
import { STATUS } from '../core/message-state.ts';
import { moveChunksToParked } from '../dispatch/store.ts';
import { withdrawCampaign } from './cancellation.ts';

const PRICE = 10;
const campaignId = 5;

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

let accountId: number;
beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message, message_state, message_event, dispatch_chunk, traffic_hour`);
  accountId = await createAccountWithCredit(pool, 100_000);
});

/** Messages of a campaign that wait, each with its price frozen. */
const queue = (count: number, size: number, of = campaignId): Promise<string[]> =>
  queueMessages(pool, { accountId, campaignId: of, count, size, priceMicros: PRICE });

const withdraw = (limit: number) =>
  transaction(pool, (tx) => withdrawCampaign(tx, { accountId, campaignId, by: 'the client', now: new Date() }, limit));

test('waiting messages end DELETED and their credit returns, a few chunks per call; other campaigns keep theirs', async () => {
  const ids = await queue(2500, 1000);
  const others = await queue(1, 1, 6);
  await moveChunksToParked(pool, { campaignId });
  expect(await withdraw(2000)).toEqual({ withdrawn: 2000, ended: 2000, more: true });
  expect(await withdraw(2000)).toEqual({ withdrawn: 500, ended: 500, more: false });
  expect(await withdraw(2000)).toEqual({ withdrawn: 0, ended: 0, more: false });
  const states = [...(await statesOf(pool, ids)).values()];
  expect(states).toHaveLength(2500);
  expect(states.every(({ status, errorCode }) => status === STATUS.DELETED && errorCode === 'CANCELLED')).toBe(true);
  expect((await listChunks(pool)).flatMap((chunk) => chunk.ids)).toEqual(others);
  expect(await readBooks(pool, accountId)).toMatchObject({ frozen: PRICE, available: 100_000 - PRICE });
  expect(
    await many(
      pool,
      sql`SELECT campaign_id AS campaign, sum(failed)::int AS failed, sum(unsent)::int AS unsent, sum(sent)::int AS sent
          FROM traffic_hour GROUP BY campaign_id`,
    ),
  ).toEqual([{ campaign: campaignId, failed: 2500, unsent: 2500, sent: 0 }]);
});

test('another account cannot withdraw messages', async () => {
  await queue(3, 1);
  const otherAccount = { accountId: accountId + 1, campaignId, by: 'the client', now: new Date() };
  expect(await transaction(pool, (tx) => withdrawCampaign(tx, otherAccount, 1000))).toMatchObject({ withdrawn: 0 });
});

test('what a worker has claimed and not submitted is withdrawn; what is submitted is sent, and each ends once', async () => {
  const ids = await queue(30, 1000);
  const gate = Promise.withResolvers<void>();
  const carrier = createScriptedCarrier({
    window: 3,
    script: async ({ messageId }) => {
      await gate.promise;
      return accepted(messageId);
    },
  });
  pumpOn(pool, carrier);
  await until('the window is full', () => Promise.resolve(carrier.submitted.length === 3));
  expect(await withdraw(1000)).toEqual({ withdrawn: 27, ended: 27, more: false });
  gate.resolve();
  await until('the queue is empty', async () => (await listChunks(pool)).length === 0);
  expect(carrier.submitted).toEqual(ids.slice(0, 3));
  const states = await statesOf(pool, ids);
  expect(ids.map((id) => states.get(id)?.status)).toEqual([
    ...Array(3).fill(STATUS.ACCEPTED),
    ...Array(27).fill(STATUS.DELETED),
  ]);
  expect(await readBooks(pool, accountId)).toMatchObject({ frozen: 0, earned: 3 * PRICE });
});
