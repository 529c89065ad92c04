import { beforeEach, expect, test } from 'vitest';
import { createScriptedCarrier } from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, queueMessages } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import { sql } from '../core/db/query.ts';
import { loadJobs } from '../messages/load.ts';
import { isUrgent } from './held.ts';
import type { PumpDeps } from './pump.ts';

const { pool } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, dispatch_chunk, unknown_outcome`));

const queueEmpty = () => until('the queue is empty', async () => (await listChunks(pool)).length === 0);

/** Reads the messages of claimed chunks when the test lets it. */
function heldReads() {
  const reads: { readonly urgent: boolean; go(): void; fail(): void }[] = [];
  const load: PumpDeps['load'] = async (chunks) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    reads.push({ urgent: chunks.some(isUrgent), go: resolve, fail: () => reject(new Error('the read failed')) });
    await promise;
    return loadJobs(pool, chunks);
  };
  return { reads, load };
}

test('a code does not wait for a claim of bulk whose messages are being read', async () => {
  const bulk = await queueMessages(pool, { priority: 1, count: 20 });
  const { reads, load } = heldReads();
  const carrier = createScriptedCarrier({ window: 50 });
  const pump = pumpOn(pool, carrier, { load });
  await until('bulk is claimed', () => reads.length === 1);
  const codes: string[] = [];
  for (let n = 2; n < 5; n++) {
    codes.push(...(await queueMessages(pool, { priority: 0 })));
    pump.wake();
    await until('the code is claimed', () => reads.length === n);
    reads.at(-1)?.go();
    await until('the code is written', () => carrier.submitted.length === codes.length);
  }
  expect(carrier.submitted).toEqual(codes);
  reads[0]?.go();
  await queueEmpty();
  expect(carrier.submitted).toEqual([...codes, ...bulk]);
});

test('what one claim has taken is not put back when the one next to it fails', async () => {
  const bulk = await queueMessages(pool, { priority: 1, count: 20 });
  const { reads, load } = heldReads();
  const carrier = createScriptedCarrier({ window: 50 });
  const pump = pumpOn(pool, carrier, { load });
  await until('bulk is claimed', () => reads.length === 1);
  const [code] = await queueMessages(pool, { priority: 0 });
  pump.wake();
  await until('the code is claimed', () => reads.length === 2);
  reads[0]?.fail();
  const more = await queueMessages(pool, { priority: 1, count: 20 });
  // The one that failed may begin its wait after this.
  await until('there is another claim', () => {
    pump.wake();
    return reads.length === 3;
  });
  expect(
    reads.map(({ urgent }) => urgent),
    'the code is read once',
  ).toEqual([false, true, false]);
  reads[2]?.go();
  await until('it is written', () => carrier.submitted.length === more.length);
  reads[1]?.go();
  await until('the code is written', () => carrier.submitted.length === more.length + 1);
  await until('what the failed claim had taken is claimed again', () => {
    pump.wake();
    return reads.length === 4;
  });
  reads[3]?.go();
  await queueEmpty();
  expect(carrier.submitted).toEqual([...more, code, ...bulk]);
});

test('no more codes are claimed next to a claim of bulk than may wait here, and the others when these are written', async () => {
  await queueMessages(pool, { priority: 1, count: 20 });
  const { promise: isRead, resolve: read } = Promise.withResolvers<void>();
  let isReading = false;
  const load: PumpDeps['load'] = async (chunks) => {
    isReading = true;
    if (!chunks.some(isUrgent)) await isRead;
    return loadJobs(pool, chunks);
  };
  let isOpen = false;
  const pace = { ready: () => isOpen, take: () => undefined, waitMs: () => 5 };
  const carrier = createScriptedCarrier({ window: 10, paceOf: () => pace });
  const pump = pumpOn(pool, carrier, { load });
  await until('bulk is claimed', () => isReading);
  await queueMessages(pool, { priority: 0, count: 60, size: 1 });
  await until('codes wait', () => {
    pump.wake();
    return pump.counts().held >= 20;
  });
  for (let n = 0; n < 20; n++) {
    pump.wake();
    await listChunks(pool);
  }
  expect(pump.counts().held, 'two windows').toBe(20);
  isOpen = true;
  read();
  await until('all are written', () => carrier.submitted.length === 80);
  await queueEmpty();
});
