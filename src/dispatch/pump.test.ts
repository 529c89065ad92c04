import { randomInt } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import {
  accepted,
  createScriptedCarrier,
  retry,
  type ScriptedCarrier,
} from '../../test/support/carriers/scripted-carrier.ts';
import { testDatabase } from '../../test/support/database.ts';
import { countLockWaits } from '../../test/support/lock-waits.ts';
import { startLostAnswers } from '../../test/support/lost-answers.ts';
import { listChunks, listUnknownIds, queueMessages, statesOf } from '../../test/support/queue.ts';
import { reset } from '../../test/support/reset.ts';
import { until } from '../../test/support/until.ts';
import type { Outcome } from '../channels/carrier.ts';
import { isSendingSingles } from '../core/background.ts';
import { createPool } from '../core/db/pool.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { STATUS } from '../core/message-state.ts';
import { loadJobs } from '../messages/load.ts';
import { settleOutcomes } from '../messages/settle.ts';
import { type Pump, type PumpDeps, startPump } from './pump.ts';
import { deleteChunks, moveChunkToQueue } from './store.ts';

const { pool, connectionString } = testDatabase();

beforeEach(() => reset(pool, sql`TRUNCATE message, message_state, dispatch_chunk, unknown_outcome`));

/** Connections that a pump woke because messages went there, in order. */
const wokenOthers: number[] = [];
const wakeOther = (connectionId: number): void => void wokenOthers.push(connectionId);

/** A pump on the carrier; both end with the test. */
function pumpOn(carrier: ScriptedCarrier, more: Partial<PumpDeps> = {}): Pump {
  const deps = { pool, connectionId: 1, owner: randomInt(1, 2 ** 47), tps: 0, log: silentLog, wakeOther };
  const load: PumpDeps['load'] = (chunks) => loadJobs(pool, chunks);
  const pump = startPump({ ...deps, carrier, load, settle: settleOutcomes, ...more });
  let wasUp = carrier.state().up;
  carrier.onChange = () => {
    const { up } = carrier.state();
    if (up === wasUp) pump.wakeForRoom();
    else pump.wake();
    wasUp = up;
  };
  let stopping: Promise<void> | undefined;
  const stop = (deadlineMs: number): Promise<void> => (stopping ??= pump.stop(deadlineMs));
  onTestFinished(() => stop(300));
  return { ...pump, stop };
}

const queueEmpty = (deadlineMs?: number): Promise<boolean> =>
  until('the queue is empty', async () => (await listChunks(pool)).length === 0, deadlineMs);

/** Responses that the test gives one by one, in the order of the submissions. */
function heldAnswers() {
  const waiting: (() => void)[] = [];
  const script = ({ messageId }: { messageId: string }): Promise<Outcome> =>
    new Promise((resolve) => waiting.push(() => resolve(accepted(messageId))));
  return { script, waiting, answerOne: () => waiting.shift()?.() };
}

const sorted = (ids: readonly string[]): string[] => [...ids].sort();

describe('paused', () => {
  test('nothing is claimed and nothing written until the pause ends', async () => {
    const ids = await queueMessages(pool, { count: 3 });
    let paused = true;
    const carrier = createScriptedCarrier();
    const pump = pumpOn(carrier, { paused: () => paused });
    pump.wake();
    // A chunk of another connection, claimed by another pump: its turn comes after the one that saw the pause.
    await queueMessages(pool, { connectionId: 2 });
    pumpOn(createScriptedCarrier(), { connectionId: 2 });
    await until('the other pump is done', async () => (await listChunks(pool)).length === 1);
    expect((await listChunks(pool)).map(({ owner }) => owner)).toEqual([null]);
    expect(carrier.submitted).toEqual([]);
    paused = false;
    pump.wake();
    await queueEmpty();
    expect(carrier.submitted).toEqual(ids);
  });

  test('what is held goes back to the queue, and what was written is settled', async () => {
    const ids = await queueMessages(pool, { count: 5 });
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 2, script });
    let paused = false;
    const pump = pumpOn(carrier, { paused: () => paused });
    await until('a window is written', () => waiting.length === 2);
    paused = true;
    answerOne();
    answerOne();
    await until('the rest is free', async () => {
      pump.wake();
      return (await listChunks(pool)).every(({ owner }) => owner === null);
    });
    expect(carrier.submitted).toEqual(ids.slice(0, 2));
    expect((await listChunks(pool)).flatMap((chunk) => chunk.ids)).toEqual(ids.slice(2));
  });
});

describe('outcomes', () => {
  test('every message is submitted once, in order, and its one outcome is committed', async () => {
    const ids = await queueMessages(pool, { count: 2500 });
    const outcomes: Outcome[] = [
      { kind: 'accepted', carrierIds: ['id'] },
      { kind: 'refused', status: 'UNDELIVERABLE', code: 'ESME_RINVDSTADR', text: 'no such number', carrierIds: [] },
      { kind: 'unknown', text: 'no response', carrierIds: [] },
    ];
    const outcomeOf = (id: string): Outcome => outcomes[ids.indexOf(id) % 3] as Outcome;
    const carrier = createScriptedCarrier({ window: 50, script: ({ messageId }) => outcomeOf(messageId) });
    pumpOn(carrier);
    await queueEmpty();
    expect(carrier.submitted).toEqual(ids);
    const states = await statesOf(pool, ids);
    const expected = [STATUS.ACCEPTED, STATUS.UNDELIVERABLE, STATUS.UNKNOWN];
    expect(ids.map((id) => states.get(id)?.status)).toEqual(ids.map((_, i) => expected[i % 3]));
    expect(await listUnknownIds(pool)).toEqual(new Set(ids.filter((_, i) => i % 3 === 2)));
  });

  test('the intent of a message is committed before the carrier gets it, and never more than a window is in doubt', async () => {
    const ids = await queueMessages(pool, { count: 120, size: 40 });
    const seen: { covered: boolean; inDoubt: number }[] = [];
    const carrier = createScriptedCarrier({
      window: 7,
      script: async ({ messageId }) => {
        seen.push(
          await one(
            pool,
            sql`SELECT bool_or(${messageId} = ANY(c.ids[1:c.intent])) AS covered,
                       sum((SELECT count(*) FROM unnest(c.ids[1:c.intent]) AS i (id)
                            WHERE NOT EXISTS (SELECT FROM message_state s WHERE s.id = i.id)))::int AS "inDoubt"
                FROM dispatch_chunk c`,
          ),
        );
        return accepted(messageId);
      },
    });
    pumpOn(carrier);
    await queueEmpty();
    expect(seen).toHaveLength(ids.length);
    expect(seen.every(({ covered }) => covered)).toBe(true);
    expect(Math.max(...seen.map(({ inDoubt }) => inDoubt))).toBeLessThanOrEqual(7);
    expect(carrier.maxInFlight()).toBe(7);
  });

  test('a message was sent when the response to it arrived, however long its commit waits', async () => {
    const ids = await queueMessages(pool, { count: 2 });
    const lock = await pool.connect();
    onTestFinished(() => lock.release());
    await lock.query('BEGIN; LOCK TABLE message_state');
    const { script, waiting, answerOne } = heldAnswers();
    pumpOn(createScriptedCarrier({ script }));
    await until('both are written', () => waiting.length === 2);
    answerOne();
    await until('the first outcome waits', async () => (await countLockWaits(pool)) === 1);
    answerOne();
    await nextTurn();
    const answeredAt = Date.now();
    await until('some time has passed', () => Date.now() > answeredAt);
    await lock.query('COMMIT');
    await queueEmpty();
    const submitted = [...(await statesOf(pool, ids)).values()].map(({ submittedAt }) => submittedAt?.getTime());
    expect(Math.max(...submitted.map((ms) => ms ?? Number.NaN))).toBeLessThanOrEqual(answeredAt);
  });

  test('a caller that waits for the outcomes that have arrived gets them committed', async () => {
    const ids = await queueMessages(pool, { count: 3 });
    const { script, waiting, answerOne } = heldAnswers();
    const pump = pumpOn(createScriptedCarrier({ window: 100, script }));
    await until('all are written', () => waiting.length === 3);
    for (let answered = 1; answered <= 3; answered++) {
      answerOne();
      await nextTurn();
      await pump.settled();
      expect((await statesOf(pool, ids)).size).toBe(answered);
    }
    await pump.settled();
  });

  test('a message that is gone is left out, and those around it keep their places', async () => {
    const ids = await queueMessages(pool, { count: 6 });
    const gone = await queueMessages(pool, { count: 2 });
    await exec(pool, sql`DELETE FROM message WHERE id = ANY(${[ids[1], ...gone]}::uuid[])`);
    const left = ids.filter((_, i) => i !== 1);
    const covered: unknown[] = [];
    const carrier = createScriptedCarrier({
      window: 1,
      script: async ({ messageId }) => {
        const chunk = (await listChunks(pool)).find((c) => c.ids.includes(messageId));
        covered.push(chunk?.ids.slice(0, chunk.intent).includes(messageId));
        return accepted(messageId);
      },
    });
    pumpOn(carrier);
    await queueEmpty();
    expect(carrier.submitted).toEqual(left);
    expect(covered).toEqual(left.map(() => true));
  });

  test('a message for later waits for its time and causes no wake-up', async () => {
    const [id] = await queueMessages(pool, { availableAt: new Date(Date.now() + 150) });
    const carrier = createScriptedCarrier();
    pumpOn(carrier);
    await queueEmpty();
    expect(carrier.submitted).toEqual([id]);
    const { due } = await one<{ due: boolean }>(
      pool,
      sql`SELECT now() - submitted_at < interval '900 milliseconds' AS due
      FROM message_state WHERE id = ${id}`,
    );
    expect(due).toBe(true);
  });
});

describe('retries', () => {
  test('a message known not to have been taken comes back after its delay, with one attempt more', async () => {
    const ids = await queueMessages(pool, { count: 30 });
    const at = new Map<string, number[]>();
    const carrier = createScriptedCarrier({
      script: ({ messageId }, time) => {
        at.set(messageId, [...(at.get(messageId) ?? []), performance.now()]);
        return time < 3 ? retry(60) : accepted(messageId);
      },
    });
    pumpOn(carrier);
    await queueEmpty();
    for (const id of ids) {
      const [first = 0, second = 0, third = 0, ...more] = at.get(id) ?? [];
      expect(more).toEqual([]);
      expect(Math.min(second - first, third - second)).toBeGreaterThan(58);
    }
    const states = await statesOf(pool, ids);
    expect(new Set([...states.values()].map((s) => `${s.status}/${s.attempts}/${s.carrierId !== null}`))).toEqual(
      new Set(['1/3/true']),
    );
  });

  test('a carrier that responds "later" to one message for ever gets it sixty times, then it is rejected in its words', async () => {
    const [id = ''] = await queueMessages(pool, {});
    const carrier = createScriptedCarrier({ script: () => retry(0, true) });
    pumpOn(carrier);
    await queueEmpty();
    expect(carrier.submitted).toHaveLength(60);
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({
      status: STATUS.REJECTED,
      attempts: 60,
      errorCode: 'ESME_RTHROTTLED',
    });
  });

  test('a link that is the reason is no try of the message: it is never given up for that', async () => {
    const [id = ''] = await queueMessages(pool, {});
    const carrier = createScriptedCarrier({ script: (_, time) => (time <= 70 ? retry(0) : accepted(id)) });
    pumpOn(carrier);
    await queueEmpty();
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: STATUS.ACCEPTED, attempts: 71 });
  });
});

describe('failover', () => {
  const SUBMIT_FAILED: Outcome = {
    kind: 'refused',
    status: 'REJECTED',
    elsewhere: true,
    code: 'ESME_RSUBMITFAIL',
    text: 'submit failed',
    carrierIds: [],
  };

  test('what one connection refuses for its own reasons goes to the next, which is woken; its response is the outcome', async () => {
    const ids = await queueMessages(pool, { count: 20, alternates: [2, 3] });
    const first = createScriptedCarrier({
      script: ({ messageId }) => (ids.indexOf(messageId) % 2 === 0 ? SUBMIT_FAILED : accepted(messageId)),
    });
    pumpOn(first);
    await until('the first connection is done', async () =>
      (await listChunks(pool)).every((c) => c.connectionId !== 1),
    );
    const moved = ids.filter((_, i) => i % 2 === 0);
    const chunks = await listChunks(pool);
    expect(chunks.flatMap((c) => c.ids)).toEqual(moved);
    expect(chunks.every((c) => c.connectionId === 2 && c.attempt === 1 && c.alternates.join() === '3')).toBe(true);
    expect(wokenOthers).toContain(2);
    const waiting = await statesOf(pool, moved);
    expect([...waiting.values()].every((s) => s.status === STATUS.ACCEPTED && s.submittedAt === null)).toBe(true);

    const second = createScriptedCarrier();
    pumpOn(second, { connectionId: 2 });
    await queueEmpty();
    expect(second.submitted).toEqual(moved);
    expect(
      await many(
        pool,
        sql`SELECT connection_id AS connection, attempts, count(*)::int AS count FROM message_state
            WHERE carrier_id = 'c-' || id GROUP BY 1, 2 ORDER BY 1`,
      ),
    ).toEqual([
      { connection: 1, attempts: 1, count: 10 },
      { connection: 2, attempts: 2, count: 10 },
    ]);
  });

  test('when the last connection refuses as well, that is the end, in its words', async () => {
    const [id = ''] = await queueMessages(pool, { alternates: [2] });
    pumpOn(createScriptedCarrier({ script: () => SUBMIT_FAILED }));
    pumpOn(createScriptedCarrier({ script: () => ({ ...SUBMIT_FAILED, text: 'no, too' }) }), { connectionId: 2 });
    await queueEmpty();
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({
      status: STATUS.REJECTED,
      attempts: 2,
      errorText: 'no, too',
    });
  });

  test('"later" twice on one connection is enough when there is another; throttling does not count', async () => {
    const [id = ''] = await queueMessages(pool, { alternates: [2] });
    const first = createScriptedCarrier({
      script: (_, time) => (time < 4 ? retry(0) : retry(0, true, 'ESME_RSYSERR')),
    });
    pumpOn(first);
    const second = createScriptedCarrier();
    pumpOn(second, { connectionId: 2 });
    await queueEmpty();
    expect([first.submitted.length, second.submitted]).toEqual([5, [id]]);
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: STATUS.ACCEPTED, attempts: 6 });
  });

  test('an unknown outcome stays where it is, whatever the route says', async () => {
    const ids = await queueMessages(pool, { count: 5, alternates: [2] });
    pumpOn(createScriptedCarrier({ script: () => ({ kind: 'unknown', text: 'no response', carrierIds: [] }) }));
    await queueEmpty();
    expect(await listUnknownIds(pool)).toEqual(new Set(ids));
  });

  test('a route that sends what is unknown once more does so over the same connection, whatever comes of it', async () => {
    const [id = ''] = await queueMessages(pool, { alternates: [2] });
    await exec(pool, sql`UPDATE dispatch_chunk SET on_unknown = 'resubmit'`);
    const first = createScriptedCarrier({
      script: (_, time) => (time === 1 ? { kind: 'unknown', text: 'no response', carrierIds: [] } : SUBMIT_FAILED),
    });
    pumpOn(first);
    await queueEmpty();
    expect(first.submitted).toEqual([id, id]);
    expect((await statesOf(pool, [id])).get(id)).toMatchObject({ status: STATUS.REJECTED, attempts: 2 });
  });

  test('a commit whose response was lost moves nothing twice', async () => {
    await using relay = await startLostAnswers(connectionString);
    const own = createPool(relay.connectionString, { max: 2, applicationName: 'pump', log: silentLog });
    const ids = await queueMessages(pool, { count: 40, alternates: [2] });
    const first = createScriptedCarrier({
      window: 40,
      script: () => {
        relay.loseNext();
        return SUBMIT_FAILED;
      },
    });
    const pump = pumpOn(first, { pool: own });
    const second = createScriptedCarrier();
    pumpOn(second, { connectionId: 2 });
    await queueEmpty();
    await pump.stop(300);
    await own.end();
    expect(relay.lost()).toBeGreaterThan(0);
    expect(sorted(second.submitted)).toEqual(sorted(ids));
  });
});

test('freed slots and turns do not ask a queue again that was empty, a wake does', async () => {
  const ids = await queueMessages(pool, { count: 40 });
  const { script, waiting, answerOne } = heldAnswers();
  const carrier = createScriptedCarrier({ window: 50, script });
  // The time that it is assumed to be empty stands still here.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  const queries = vi.spyOn(pool, 'query');
  onTestFinished(() => [clock, queries].forEach((spy) => spy.mockRestore()));
  const pump = pumpOn(carrier);
  await until('all are written', () => waiting.length === ids.length);
  for (let left = ids.length - 4; left >= 0; left -= 4) {
    while (waiting.length > left) answerOne();
    await until('they have their responses', () => pump.counts().inFlight === left);
  }
  await queueEmpty();
  expect(queries.mock.calls.filter(([asked]) => JSON.stringify(asked).includes('WITH due AS')).length).toBeLessThan(4);
  await queueMessages(pool, { count: 1 });
  pump.wake();
  await until('the next is written', () => waiting.length === 1);
  answerOne();
  await queueEmpty();
});

describe('order', () => {
  test('a code does not wait for a response to bulk: a tenth of the window is kept for it', async () => {
    const bulk = await queueMessages(pool, { priority: 1, count: 40 });
    const { script, waiting } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 20, script });
    const pump = pumpOn(carrier);
    await until('bulk has its share', () => waiting.length === 18);
    const codes = await queueMessages(pool, { priority: 0, count: 2 });
    pump.wake();
    await until('the codes are written', () => waiting.length === 20);
    expect(carrier.submitted).toEqual([...bulk.slice(0, 18), ...codes]);
  });

  test('a code does not wait for a large commit of outcomes of bulk', async () => {
    // During single sends bulk is written in smaller pieces.
    await until('no single send is recent', () => !isSendingSingles());
    const bulk = await queueMessages(pool, { priority: 1, count: 600 });
    const lock = await pool.connect();
    onTestFinished(() => lock.release());
    await lock.query('BEGIN; LOCK TABLE message_state');
    const carrier = createScriptedCarrier({ window: 1000 });
    const pump = pumpOn(carrier);
    await until(
      'a commit of outcomes waits',
      async () => carrier.submitted.length === 600 && (await countLockWaits(pool)) > 0,
    );
    const [code] = await queueMessages(pool, { priority: 0 });
    pump.wake();
    await until('the code is written', () => carrier.submitted.length === 601);
    expect(await countLockWaits(pool)).toBeGreaterThan(0);
    expect(carrier.submitted).toEqual([...bulk, code]);
    await lock.query('COMMIT');
    await queueEmpty();
    expect(new Set(carrier.submitted).size).toBe(601);
  });

  test('a single send overtakes the bulk that waits', async () => {
    const bulk = await queueMessages(pool, { priority: 1, count: 200 });
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 5, script });
    const pump = pumpOn(carrier);
    await until('the window is full', () => waiting.length === 5);
    const { held } = pump.counts();
    const [urgent] = await queueMessages(pool, { priority: 0 });
    pump.wake();
    await until('the single send is claimed', () => pump.counts().held === held + 1);
    answerOne();
    await until('the next is submitted', () => carrier.submitted.length === 6);
    expect(carrier.submitted).toEqual([...bulk.slice(0, 5), urgent]);
  });

  test('an account that comes with little does not wait for the end of one that came with much', async () => {
    const much = await queueMessages(pool, { accountId: 1, count: 200, size: 10 });
    const little = await queueMessages(pool, { accountId: 2, count: 10, size: 10 });
    const carrier = createScriptedCarrier({ window: 10 });
    pumpOn(carrier);
    await queueEmpty();
    expect(sorted(carrier.submitted)).toEqual(sorted([...much, ...little]));
    expect(carrier.submitted.indexOf(little.at(-1) ?? '')).toBeLessThan(30);
    expect(carrier.submitted.filter((id) => much.includes(id))).toEqual(much);
  });

  test('a chunk of many at a low rate is taken piece by piece, so that another account has its turn after two', async () => {
    const much = await queueMessages(pool, { accountId: 1, count: 1000 });
    const carrier = createScriptedCarrier({ window: 10 });
    const pump = pumpOn(carrier, { tps: 100 });
    await until('the first are submitted', () => carrier.submitted.length >= 10);
    expect(pump.counts().held).toBeLessThanOrEqual(110);
    const little = await queueMessages(pool, { accountId: 2, count: 3 });
    const before = carrier.submitted.length;
    await until('the others had their turn', () => little.every((id) => carrier.submitted.includes(id)));
    // The held part of the first piece and the next, a window of which may be held already: 210, and the three.
    expect(carrier.submitted.length - before).toBeLessThanOrEqual(213);
    expect(carrier.submitted.filter((id) => !little.includes(id))).toEqual(
      much.slice(0, carrier.submitted.length - little.length),
    );
  });

  test('one connection gets nothing of another', async () => {
    const ours = await queueMessages(pool, { connectionId: 1, count: 5 });
    await queueMessages(pool, { connectionId: 2, count: 5 });
    const carrier = createScriptedCarrier();
    pumpOn(carrier);
    await until('ours are gone', async () => (await listChunks(pool)).length === 1);
    expect(carrier.submitted).toEqual(ours);
  });

  test('the agreed rate is held in parts', async () => {
    const ids = await queueMessages(pool, { count: 60, parts: 2 });
    const carrier = createScriptedCarrier({ window: 100 });
    const start = performance.now();
    pumpOn(carrier, { tps: 200 });
    await until('all are submitted', () => carrier.submitted.length === ids.length);
    // 120 parts, of which a burst of 50 goes immediately and the last message may overdraw by one.
    const seconds = (performance.now() - start) / 1000;
    expect(seconds).toBeGreaterThan((120 - 50 - 2) / 200 - 0.01);
  });
});

test('two workers share the rate, and send together what one may', async () => {
  const tps = 400;
  const ids = await queueMessages(pool, { count: 5000 });
  const carriers = [1, 2].map(() => createScriptedCarrier({ window: 20 }));
  for (const carrier of carriers) pumpOn(carrier, { tps }).shareRate(2);
  const count = (): number => carriers.reduce((sum, { submitted }) => sum + submitted.length, 0);
  await until('the first burst is over', () => count() >= 150);
  // A busy machine may send less than the rate; a wrong share would send twice as much.
  for (let stretch = 0; stretch < 3; stretch++) {
    const [start, begun] = [performance.now(), count()];
    await until('some more are submitted', () => count() >= begun + 500);
    expect(((count() - begun) * 1000) / (performance.now() - start)).toBeLessThan(tps * 1.1);
  }
  const submitted = carriers.map((carrier) => carrier.submitted);
  expect(Math.min(...submitted.map(({ length }) => length))).toBeGreaterThan(0);
  expect(new Set(submitted.flat()).size).toBe(count());
  expect(new Set(ids).isSupersetOf(new Set(submitted.flat()))).toBe(true);
});

describe('failures of the database', () => {
  test('connections that die in mid-flight lose nothing and repeat nothing', async () => {
    const own = createPool(connectionString, { max: 4, applicationName: 'pump under test', log: silentLog });
    const ids = await queueMessages(pool, { count: 1500, size: 100 });
    const carrier = createScriptedCarrier({ window: 20 });
    const pump = pumpOn(carrier, { pool: own, load: (chunks) => loadJobs(own, chunks) });
    let deaths = 0;
    for (let next = 100; next < 1400; next += 130) {
      await until(`${next} are submitted`, () => carrier.submitted.length >= next);
      deaths += await exec(
        pool,
        sql`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pump under test'
            AND datname = current_database()`,
      );
    }
    await queueEmpty();
    await pump.stop(300);
    await own.end();
    expect(deaths).toBeGreaterThan(0);
    expect(sorted(carrier.submitted)).toEqual(sorted(ids));
    const states = await statesOf(pool, ids);
    expect([...states.values()].filter((state) => state.status === STATUS.ACCEPTED)).toHaveLength(ids.length);
  });

  test('a commit whose response was lost is made good: outcomes stay, and what is to be retried is queued once', async () => {
    await using relay = await startLostAnswers(connectionString);
    const own = createPool(relay.connectionString, { max: 2, applicationName: 'pump', log: silentLog });
    const ids = await queueMessages(pool, { count: 40 });
    const carrier = createScriptedCarrier({
      window: 40,
      script: ({ messageId }, time) => {
        if (time === 1) relay.loseNext();
        return time === 1 && ids.indexOf(messageId) % 2 === 0 ? retry(20) : accepted(messageId);
      },
    });
    const pump = pumpOn(carrier, { pool: own });
    await queueEmpty();
    await pump.stop(300);
    await own.end();
    expect(relay.lost()).toBeGreaterThan(0);
    expect(carrier.submitted).toHaveLength(60);
    const states = await statesOf(pool, ids);
    expect(ids.map((id) => states.get(id)?.attempts)).toEqual(ids.map((_, i) => (i % 2 === 0 ? 2 : 1)));
  });

  test('chunks that were claimed but could not be read are not forgotten', async () => {
    const ids = await queueMessages(pool, { count: 30, size: 10 });
    let failures = 2;
    const carrier = createScriptedCarrier();
    const pump = pumpOn(carrier, {
      load: async (chunks) => {
        if (failures-- > 0) throw new Error('the database is away');
        return loadJobs(pool, chunks);
      },
    });
    await until('all are submitted', () => {
      pump.wake();
      return carrier.submitted.length === ids.length;
    });
    await queueEmpty();
    expect(carrier.submitted).toEqual(ids);
  });
});

describe('the carrier goes away', () => {
  test('what waits is given back, so that a worker whose bind is up takes it, and each message goes once', async () => {
    const ids = await queueMessages(pool, { count: 300 });
    const { script, waiting, answerOne } = heldAnswers();
    const first = createScriptedCarrier({ window: 5, script });
    const pump = pumpOn(first);
    await until('the window is full', () => waiting.length === 5);
    first.setUp(false);
    while (waiting.length > 0) answerOne();
    await until('the rest is given back', async () => {
      pump.wake();
      return (await listChunks(pool)).every((chunk) => chunk.owner === null && chunk.size === 295);
    });
    const second = createScriptedCarrier({ window: 5 });
    pumpOn(second);
    await queueEmpty();
    expect([...first.submitted, ...second.submitted]).toEqual(ids);
  });

  test('a carrier that goes away while an intent is being committed: what it is given next is still covered by it', async () => {
    const ids = await queueMessages(pool, { priority: 0, count: 20 });
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 20, script });
    const lock = await pool.connect();
    let locked = false;
    pumpOn(carrier, {
      load: async (chunks) => {
        if (!locked) await lock.query('BEGIN; SELECT FROM dispatch_chunk FOR UPDATE');
        locked = true;
        return loadJobs(pool, chunks);
      },
    });
    await until('the intent waits for the lock', async () => locked && (await countLockWaits(pool)) === 1);
    carrier.setUp(false);
    // The pump may or may not try to give the chunk back now, behind the intent.
    await until('a second statement waits', async () => (await countLockWaits(pool)) === 2, 300).catch(() => undefined);
    carrier.setUp(true);
    await lock.query('COMMIT');
    lock.release();
    await until('all are written', async () => waiting.length >= 20 && (await countLockWaits(pool)) === 0);
    expect(await listChunks(pool)).toMatchObject([{ owner: expect.any(Number), intent: 20, ids }]);
    while (waiting.length > 0) answerOne();
    await queueEmpty();
    expect(sorted(carrier.submitted)).toEqual(sorted(ids));
  });

  test('a worker whose chunks were taken over writes nothing more of them', async () => {
    const ids = await queueMessages(pool, { count: 50 });
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 5, script });
    const pump = pumpOn(carrier, { owner: 1 });
    await until('the window is full', () => waiting.length === 5);
    await exec(pool, sql`UPDATE dispatch_chunk SET owner = 2`);
    answerOne();
    await until('the outcome is committed', async () => (await statesOf(pool, ids)).size === 1);
    await until('the rest is dropped', () => pump.counts().held === 0);
    while (waiting.length > 0) answerOne();
    await until('the outcomes are committed', async () => (await statesOf(pool, ids)).size === 5);
    expect(carrier.submitted).toEqual(ids.slice(0, 5));
    expect(await listChunks(pool)).toMatchObject([{ owner: 2, size: 50 }]);
  });

  test('a worker that gets its own chunk back from a rescue writes each message once', async () => {
    const ids = (await Promise.all([25, 10].map((count) => queueMessages(pool, { priority: 0, count })))).flat();
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 20, script });
    const pump = pumpOn(carrier, { owner: 1 });
    await until('the window is full', () => waiting.length === 20);
    await until('both chunks are held', () => pump.counts().held === 15);
    // As the rescue does: written messages stay out, the rest is queued.
    for (const { id, ids: all, intent } of await listChunks(pool))
      if (intent < all.length) await moveChunkToQueue(pool, { owner: 1, id, ids: all.slice(intent) });
      else await deleteChunks(pool, { owner: 1, ids: [id] });
    await until('all are submitted', () => {
      answerOne();
      return carrier.submitted.length >= ids.length && waiting.length === 0;
    });
    await pump.stop(300);
    expect(sorted(carrier.submitted)).toEqual(sorted(ids));
  });
});

describe('stop', () => {
  test('outcomes are committed, the rest is given back in its place, and nothing is lost or sent twice', async () => {
    const ids = await queueMessages(pool, { count: 400, size: 100 });
    const { script, waiting, answerOne } = heldAnswers();
    const carrier = createScriptedCarrier({ window: 8, script });
    const pump = pumpOn(carrier);
    await until('the window is full', () => waiting.length === 8);
    const stopping = pump.stop(5000);
    while (waiting.length > 0) answerOne();
    await stopping;
    const chunks = await listChunks(pool);
    expect(chunks.every((chunk) => chunk.owner === null && chunk.intent === 0)).toBe(true);
    expect(chunks.flatMap((chunk) => chunk.ids)).toEqual(ids.slice(8));
    expect((await statesOf(pool, ids)).size).toBe(8);
    const next = createScriptedCarrier({ window: 8 });
    pumpOn(next);
    await queueEmpty();
    expect([...carrier.submitted, ...next.submitted]).toEqual(ids);
  });

  test('what the carrier never responds to is listed as unknown, within the deadline', async () => {
    const ids = await queueMessages(pool, { count: 3 });
    const carrier = createScriptedCarrier({ window: 3, script: () => new Promise(() => undefined) });
    const pump = pumpOn(carrier);
    await until('all are submitted', () => carrier.submitted.length === 3);
    const start = performance.now();
    await pump.stop(200);
    expect(performance.now() - start).toBeLessThan(30_000);
    expect(await listUnknownIds(pool)).toEqual(new Set(ids));
    expect(await listChunks(pool)).toEqual([]);
  });
});
