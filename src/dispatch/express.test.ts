import type { Pool } from 'pg';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import {
  accepted,
  createScriptedCarrier,
  retry,
  type ScriptedCarrier,
} from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { actor, addBalances, draft, flatPrice, freeOver } from '../../test/support/drafts.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { startLostAnswers } from '../../test/support/lost-answers.ts';
import { pumpOn } from '../../test/support/pump.ts';
import { listChunks, newMessage, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from '../channels/carrier.ts';
import { createPool } from '../core/db/pool.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { type Accept, createAccept } from '../messages/accept.ts';
import { jobOf } from '../messages/load.ts';
import type { Lookups } from '../messages/prepare.ts';
import type { Draft, Verdict } from '../messages/read-send.ts';
import { createExpress, type Express, moveUnwrittenToQueue } from './express.ts';
import { CODE } from './held.ts';
import { createWaker, type Pump, type PumpDeps, type Waker } from './pump.ts';
import type { NewChunk } from './store.ts';

const { pool, connectionString } = testDatabase();

beforeEach(async () => {
  await reset(pool, sql`TRUNCATE message, message_state, client_message_id, dispatch_chunk, unknown_outcome`);
  await addBalances(pool);
});

const newChunk = (count: number, priority = 0): { chunk: NewChunk; jobs: () => ReturnType<typeof jobOf>[] } => {
  const messages = Array.from({ length: count }, () => newMessage());
  const ids = messages.map(({ id }) => id);
  const chunk = { accountId: 1, connectionId: 1, priority, availableAt: null, ids };
  return { chunk, jobs: () => messages.map(jobOf) };
};

/** Returns how many of this many messages would pass the queue now. */
function passing(pump: Pump, count = 1, priority = 0): number {
  const { chunk, jobs } = newChunk(count, priority);
  const reservation = pump.reserve(chunk, jobs);
  reservation?.cancel(false);
  return reservation?.count ?? 0;
}

const untilOpen = (pump: Pump): Promise<boolean> => until('the lane is open', () => passing(pump) === 1);
const queueEmpty = (): Promise<boolean> =>
  until('the queue is empty', async () => (await listChunks(pool)).length === 0);

type Process = {
  readonly accept: Accept;
  readonly pump: Pump;
  readonly express: Express;
  readonly waker: Waker;
  /** Number of single sends by their way. */
  readonly counts: { express: number; queue: number };
};

/** A process with an API and a pump of connection 1, whose lane is open. */
async function processOn(
  carrier: ScriptedCarrier,
  { on = pool, tables = freeOver(() => [1]), ...more }: Partial<PumpDeps> & { on?: Pool; tables?: Lookups } = {},
): Promise<Process> {
  const counts = { express: 0, queue: 0 };
  const express = createExpress((way, messages) => {
    counts[way] += messages;
  });
  const waker = createWaker(pool);
  const pump = pumpOn(pool, carrier, more);
  carrier.onChange = pump.wakeForRoom;
  onTestFinished(waker.onWake(1, pump.wake));
  onTestFinished(express.open(1, pump));
  await untilOpen(pump);
  const accept = createAccept({ pool: on, tables, waker, recentMessages: null, express });
  return { accept, pump, express, waker, counts };
}

const idOf = (verdict: Verdict | undefined): string => (verdict?.kind === 'accepted' ? verdict.messageId : '');
const idsOf = (verdicts: readonly Verdict[]): string[] => verdicts.map(idOf);
const drafts = (count: number, more: Partial<Draft> = {}): Draft[] => Array.from({ length: count }, () => draft(more));

/** Responses that the test gives one by one, in the order of the submissions. */
function heldAnswers() {
  const waiting: (() => void)[] = [];
  const script = ({ messageId }: { messageId: string }): Promise<Outcome> =>
    new Promise((resolve) => waiting.push(() => resolve(accepted(messageId))));
  return { script, waiting, answerOne: () => waiting.shift()?.() };
}

/** Locks a table, so that no acceptance can be committed, until the returned function is called. */
async function holdCommits(table: 'message' | 'message_state'): Promise<() => Promise<unknown>> {
  const lock = await pool.connect();
  onTestFinished(() => lock.release());
  await lock.query(`BEGIN; LOCK TABLE ${table} IN SHARE MODE`);
  return () => lock.query('COMMIT');
}

test('a single send is written once it is stored, by then claimed with an intent that covers it', async () => {
  const seen: unknown[] = [];
  const carrier = createScriptedCarrier({
    script: async ({ messageId }) => {
      seen.push(
        await one(
          pool,
          sql`SELECT m.id, c.owner IS NOT NULL AS claimed, c.intent, c.size FROM message m, dispatch_chunk c
              WHERE m.id = ${messageId} AND m.id = ANY (c.ids)`,
        ),
      );
      return accepted(messageId);
    },
  });
  const { accept, counts } = await processOn(carrier);
  const id = idOf(await accept.one(actor(), draft()));
  await queueEmpty();
  expect(seen).toEqual([{ id, claimed: true, intent: 1, size: 1 }]);
  expect([counts, (await statesOf(pool, [id])).get(id)?.carrierId]).toEqual([{ express: 1, queue: 0 }, `c-${id}`]);
});

test('as many pass as slots are free, and those behind them wait in the queue, in their order', async () => {
  const { script, waiting, answerOne } = heldAnswers();
  const carrier = createScriptedCarrier({ window: 2, script });
  const { accept, counts } = await processOn(carrier);
  const ids = idsOf(await accept.many(actor(), drafts(5)));
  await until('the window is full', () => waiting.length === 2);
  expect(counts).toEqual({ express: 2, queue: 3 });
  for (let n = 0; n < 5; n++) {
    await until('the next is written', () => waiting.length > 0);
    answerOne();
  }
  await queueEmpty();
  expect([carrier.submitted, carrier.maxInFlight()]).toEqual([ids, 2]);
});

test('a slot is free once the outcome of its last message is committed, not before', async () => {
  const carrier = createScriptedCarrier({ window: 4 });
  const { accept, pump } = await processOn(carrier);
  const release = await holdCommits('message_state');
  await accept.many(actor(), drafts(3));
  await until('the outcomes wait', async () => (await countLockWaits(pool)) > 0);
  expect([carrier.room(), passing(pump, 4)]).toEqual([4, 1]);
  await release();
  await until('all slots are free', () => passing(pump, 4) === 4);
});

test('a reservation takes its slots and its share of the rate, and gives both back when it is cancelled', async () => {
  const pump = pumpOn(pool, createScriptedCarrier({ window: 3 }), { tps: 8 });
  await until('a burst of two is allowed', () => passing(pump, 3) === 2);
  const { chunk, jobs } = newChunk(2);
  const reservation = pump.reserve(chunk, jobs);
  expect(passing(pump)).toBe(0);
  reservation?.cancel(false);
  expect(passing(pump, 3)).toBe(2);
});

test('a wake-up for single sends closes the lane until they are claimed; one for bulk does not', async () => {
  const pump = pumpOn(pool, createScriptedCarrier());
  await untilOpen(pump);
  pump.wake(true);
  expect(passing(pump)).toBe(1);
  pump.wake();
  expect(passing(pump)).toBe(0);
  await untilOpen(pump);
});

test('a code passes although single sends wait, and leaves the queue before them', async () => {
  const { script, waiting, answerOne } = heldAnswers();
  const carrier = createScriptedCarrier({ window: 1, script });
  const { accept, pump } = await processOn(carrier);
  pump.wake();
  expect([passing(pump), passing(pump, 1, CODE)]).toEqual([0, 1]);
  await untilOpen(pump);
  await accept.many(actor(), drafts(8));
  await until('the window is full', () => waiting.length === 1);
  const code = idOf(await accept.one(actor(), draft({ priority: CODE })));
  await until('the code is claimed', async () => (await listChunks(pool)).every(({ owner }) => owner !== null));
  for (let n = 0; n < 9; n++) {
    await until('the next is written', () => waiting.length > 0);
    answerOne();
  }
  await queueEmpty();
  // One message may be on its way to the carrier when the code is claimed.
  expect(carrier.submitted.indexOf(code)).toBeLessThanOrEqual(2);
});

test('an account that floods takes no slot before the single send of another', async () => {
  const { script, waiting, answerOne } = heldAnswers();
  const carrier = createScriptedCarrier({ window: 2, script });
  const { accept } = await processOn(carrier);
  for (let n = 0; n < 10; n++) await accept.one(actor(1), draft());
  const id = idOf(await accept.one(actor(2), draft()));
  while (!carrier.submitted.includes(id)) {
    await accept.one(actor(1), draft());
    await until('a message is written', () => waiting.length > 0);
    answerOne();
  }
  // In the order of arrival, the ten of the other account would be first. How many more arrive depends on the machine.
  expect(carrier.submitted.indexOf(id)).toBeLessThan(10);
  while ((await listChunks(pool)).length > 0) answerOne();
});

test('messages that are stored as sending is paused go back to the queue unwritten, and are sent once after it', async () => {
  let paused = false;
  const carrier = createScriptedCarrier();
  const { accept, pump } = await processOn(carrier, { paused: () => paused });
  const release = await holdCommits('message');
  const sending = accept.one(actor(), draft());
  await until('the acceptance waits', async () => (await countLockWaits(pool)) > 0);
  paused = true;
  await release();
  const id = idOf(await sending);
  await until('it is in the queue', async () => (await listChunks(pool))[0]?.owner === null);
  expect([carrier.submitted, await listChunks(pool)]).toEqual([
    [],
    [expect.objectContaining({ intent: 0, ids: [id] })],
  ]);
  paused = false;
  pump.wake();
  await queueEmpty();
  expect(carrier.submitted).toEqual([id]);
});

test('a pump that stops waits for its reservations, and returns what they store to the queue', async () => {
  const carrier = createScriptedCarrier();
  const { accept, pump } = await processOn(carrier);
  const release = await holdCommits('message');
  const sending = accept.one(actor(), draft());
  await until('the acceptance waits', async () => (await countLockWaits(pool)) > 0);
  const stopped = pump.stop(30_000);
  expect(passing(pump)).toBe(0);
  await release();
  const id = idOf(await sending);
  await stopped;
  expect([carrier.submitted, await listChunks(pool)]).toEqual([
    [],
    [expect.objectContaining({ owner: null, intent: 0, ids: [id] })],
  ]);
});

test('a message whose commit was stored although its response was lost is sent once', async () => {
  await using relay = await startLostAnswers(connectionString);
  const own = createPool(relay.connectionString, { max: 2, applicationName: 'acceptance', log: silentLog });
  onTestFinished(() => own.end());
  const carrier = createScriptedCarrier();
  const { accept, pump } = await processOn(carrier, { on: own });
  // The look-ups before the commit open the connections.
  await accept.one(actor(), draft());
  const stored = await until('a response to a commit is lost', async () => {
    relay.loseNext();
    // It may be that of another statement, such as the first one of a new connection.
    await expect(accept.one(actor(), draft())).rejects.toThrow();
    const rows = await many<{ id: string }>(pool, sql`SELECT id FROM message ORDER BY id`);
    return rows.length === 2 && rows;
  });
  await queueEmpty();
  expect(carrier.submitted).toEqual(stored.map(({ id }) => id));
  await untilOpen(pump);
});

test('while a transaction may still store a chunk, the search for it goes on', async () => {
  const { express, pump } = await processOn(createScriptedCarrier());
  const { chunk, jobs } = newChunk(2);
  const client = await pool.connect();
  onTestFinished(() => client.release());
  await client.query('BEGIN');
  const passage = express.begin();
  expect(passage.reserve(chunk, jobs)).toBe(2);
  await Promise.all(passage.insert(client));
  const { owner } = await one<{ owner: number }>(client, sql`SELECT owner FROM dispatch_chunk`);
  const unwritten = { owner, connectionId: 1, firstIds: chunk.ids.slice(0, 1) };
  expect(await moveUnwrittenToQueue(pool, unwritten)).toBe(false);
  await client.query('COMMIT');
  expect(await moveUnwrittenToQueue(pool, unwritten)).toBe(true);
  expect(await listChunks(pool)).toMatchObject([{ owner: null, intent: 0, ids: chunk.ids }]);
  passage.cancel(new Error('the response was lost'));
  await untilOpen(pump);
});

test('of messages that the credit does not cover, exactly the affordable ones are written', async () => {
  const accountId = 20;
  await exec(
    pool,
    sql`UPDATE credit_balance SET unlimited = false, available_micros = 20 WHERE account_id = ${accountId}`,
  );
  const tables = { ...freeOver(() => [1]), findPrice: flatPrice(10) };
  const carrier = createScriptedCarrier({ window: 3 });
  const { accept, pump } = await processOn(carrier, { tables });
  const verdicts = await accept.many(actor(accountId), drafts(3));
  await queueEmpty();
  expect(carrier.submitted).toEqual(idsOf(verdicts).slice(0, 2));
  await until('all slots are free', () => passing(pump, 3) === 3);
});

test('of repeats with one client id, one message is written', async () => {
  const carrier = createScriptedCarrier();
  const { accept } = await processOn(carrier);
  const verdicts = await Promise.all(drafts(3, { clientId: 'order-1' }).map((each) => accept.one(actor(), each)));
  await queueEmpty();
  expect(new Set(idsOf(verdicts))).toEqual(new Set(carrier.submitted));
  expect(carrier.submitted).toHaveLength(1);
});

test('a retry of an express send comes back over the queue', async () => {
  const carrier = createScriptedCarrier({
    script: ({ messageId }, time) => (time === 1 ? retry(0) : accepted(messageId)),
  });
  const { accept } = await processOn(carrier);
  const id = idOf(await accept.one(actor(), draft()));
  await queueEmpty();
  expect([carrier.submitted, (await statesOf(pool, [id])).get(id)?.attempts]).toEqual([[id, id], 2]);
});

const OTHER = '+351912345679';

test.each<[string, Parameters<typeof processOn>[1], Partial<Draft>]>([
  ['whose route sends an unknown outcome once more', { tables: resubmitting() }, {}],
  [
    'that lacks facts that are read with the queue',
    { mustLoad: ({ destination }) => destination === OTHER },
    { destination: OTHER },
  ],
  ['with a character that the database stores differently', {}, { body: 'a\ud800' }],
])('a message %s goes over the queue', async (_, more, ask) => {
  const carrier = createScriptedCarrier();
  const { accept, counts } = await processOn(carrier, more);
  const id = idOf(await accept.one(actor(), draft(ask)));
  await queueEmpty();
  expect([carrier.submitted, counts]).toEqual([[id], { express: 0, queue: 1 }]);
});

function resubmitting(): Lookups {
  const tables = freeOver(() => [1]);
  return { ...tables, findRoute: (...question) => ({ ...tables.findRoute(...question), onUnknown: 'resubmit' }) };
}

test('bulk does not pass the queue, and a code next to it does', async () => {
  const { script, waiting, answerOne } = heldAnswers();
  const carrier = createScriptedCarrier({ window: 20, script });
  const { accept, pump, counts } = await processOn(carrier);
  const bulk = await queueMessages(pool, { count: 40 });
  pump.wake(true);
  await until('bulk has its share', () => waiting.length === 18);
  await untilOpen(pump);
  const id = idOf(await accept.one(actor(), draft()));
  expect([counts.express, carrier.submitted]).toEqual([1, [...bulk.slice(0, 18), id]]);
  while ((await listChunks(pool)).length > 0) answerOne();
});
