import { afterAll, beforeEach, expect, test } from 'vitest';
import { accepted, createScriptedCarrier, retry } from '../../test/support/carriers/scripted-carrier.ts';
import { createTestDatabase } from '../../test/support/database.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from '../channels/carrier.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { STATUS } from '../core/message-state.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { rescueChunks } from './commit.ts';
import * as db from './store.ts';
import { claimChunks, claimMessages, findNextDueMs, moveChunkToQueue, updateIntents } from './store.ts';

const CAMPAIGN = { campaignId: 5 };

const database = await createTestDatabase();
const { pool } = database;
afterAll(() => database[Symbol.asyncDispose]());

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, dispatch_chunk`));

const CLAIM = { connectionId: 1, owner: 7, messages: 5000, belowPriority: 9 };
const claim = () => claimChunks(pool, CLAIM);
const campaignsOf = async (): Promise<(number | null)[]> =>
  (await many<{ id: number | null }>(pool, sql`SELECT campaign_id AS id FROM dispatch_chunk ORDER BY id`)).map(
    (r) => r.id,
  );

test('parked chunks of a campaign are not claimed and never due, until they return to their former time', async () => {
  const later = new Date(Date.now() + 3_600_000);
  await queueMessages(pool, { ...CAMPAIGN, count: 3, size: 2 });
  await queueMessages(pool, { ...CAMPAIGN, availableAt: later });
  await queueMessages(pool, { campaignId: 6 });
  expect(await db.moveChunksToParked(pool, CAMPAIGN)).toBe(3);
  expect(await db.moveChunksToParked(pool, CAMPAIGN)).toBe(0);
  expect((await claim()).map((chunk) => chunk.campaignId)).toEqual([6]);
  expect(await db.countCampaignChunks(pool, CAMPAIGN)).toEqual({ waiting: 4, owned: 0 });
  expect(await db.moveChunksFromParked(pool, CAMPAIGN)).toBe(3);
  expect((await claim()).map((chunk) => chunk.campaignId)).toEqual([5, 5]);
  expect(await db.countCampaignChunks(pool, CAMPAIGN)).toEqual({ waiting: 1, owned: 3 });
  expect(await findNextDueMs(pool, { connectionId: 1 })).toBeGreaterThan(3_000_000);
});

test('the connections at which a campaign waits are listed once each', async () => {
  for (const connectionId of [3, 1, 3]) await queueMessages(pool, { ...CAMPAIGN, connectionId });
  expect(await db.listCampaignConnections(pool, CAMPAIGN)).toEqual([1, 3]);
});

test('chunks keep their campaign when they are split, returned, retried, moved or rescued', async () => {
  const ids = await queueMessages(pool, { ...CAMPAIGN, count: 6 });
  const [first] = await claimMessages(pool, { ...CLAIM, messages: 2, maxMessages: 2 });
  expect(await campaignsOf()).toEqual([5, 5]);
  await moveChunkToQueue(pool, { owner: 7, id: first?.id ?? 0, ids: ids.slice(1, 2) });
  expect(await campaignsOf()).toEqual([5, 5]);
  const [, rest] = await claim();
  await updateIntents(pool, { owner: 7, intents: new Map([[rest?.id ?? 0, 1]]) });
  await rescueChunks(pool, settleOutcomes);
  expect(await campaignsOf()).toEqual([5, 5]);
});

const REFUSED: Outcome = {
  kind: 'refused',
  status: 'REJECTED',
  elsewhere: true,
  code: '8',
  text: 'not here',
  carrierIds: [],
};

test.each<[string, number[], Outcome]>([
  ['the same connection', [], retry(60_000)],
  ['the next connection', [2], REFUSED],
])('what goes out again over %s is still the campaign’s', async (_, alternates, outcome) => {
  await queueMessages(pool, { ...CAMPAIGN, alternates });
  pumpOn(pool, createScriptedCarrier({ script: () => outcome }));
  await until('it was put off', async () => (await listChunks(pool)).some((chunk) => chunk.attempt === 1));
  expect(await campaignsOf()).toEqual([5]);
});

test('a worker writes no more of a chunk once it is parked, and returns the rest parked', async () => {
  const ids = await queueMessages(pool, { ...CAMPAIGN, count: 50 });
  const gate = Promise.withResolvers<void>();
  const carrier = createScriptedCarrier({
    window: 4,
    script: async ({ messageId }) => {
      await gate.promise;
      return accepted(messageId);
    },
  });
  const pump = pumpOn(pool, carrier);
  await until('the window is full', () => Promise.resolve(carrier.submitted.length === 4));
  await db.moveChunksToParked(pool, CAMPAIGN);
  gate.resolve();
  await until('it was given back', async () => (await listChunks(pool)).every((chunk) => chunk.owner === null));
  expect(carrier.submitted).toEqual(ids.slice(0, 4));
  expect(await listChunks(pool)).toMatchObject([{ intent: 0, size: 46, ids: ids.slice(4) }]);
  expect(pump.counts()).toEqual({ inFlight: 0, held: 0 });
  await db.moveChunksFromParked(pool, CAMPAIGN);
  pump.wake();
  await until('all are sent', async () => (await statesOf(pool, ids)).size === 50);
  expect(carrier.submitted).toEqual(ids);
});

test('other campaigns continue while one is parked at the same worker', async () => {
  const held = await queueMessages(pool, { ...CAMPAIGN, count: 10 });
  const others = await queueMessages(pool, { campaignId: 6, count: 10 });
  const gate = Promise.withResolvers<void>();
  const carrier = createScriptedCarrier({
    window: 2,
    script: async ({ messageId }) => {
      await gate.promise;
      return accepted(messageId);
    },
  });
  pumpOn(pool, carrier);
  await until('the window is full', () => Promise.resolve(carrier.submitted.length === 2));
  await db.moveChunksToParked(pool, CAMPAIGN);
  gate.resolve();
  await until('the others are sent', async () => (await statesOf(pool, others)).size === 10);
  expect(carrier.submitted.filter((id) => held.includes(id))).toEqual(held.slice(0, 2));
});

test('a message that cannot be sent ends with its refusal, and is not submitted', async () => {
  const [id = ''] = await queueMessages(pool, {});
  await exec(pool, sql`UPDATE message SET channel = 'RCS', content = '{"template":"1","channel":"RCS","values":{}}'`);
  const carrier = createScriptedCarrier();
  pumpOn(pool, carrier);
  await until('it has ended', async () => (await statesOf(pool, [id])).size === 1);
  expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: STATUS.ERROR, errorCode: 'TEMPLATE' });
  expect(carrier.submitted).toEqual([]);
});
