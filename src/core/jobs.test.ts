import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { exec, many, sql } from './db/query.ts';
import { tenantTransaction, transaction } from './db/transaction.ts';
import { openWorkerSession } from './db/worker-session.ts';
import { countDueJobs, createJobRunner, JOBS_CHANNEL, type Job, job, jobTasks, type Runnable } from './jobs.ts';
import { silentLog } from './log.ts';

const { pool, connectionString } = testDatabase();

type Note = { readonly text: string };
type Deps = { readonly handle: (job: Job<Note>) => Promise<unknown> };
const note = job<Note, Deps>('test.note', { tries: 3, perAccount: 3 }, async ({ handle }, one) => {
  await handle(one);
});
const patient = job<Note, Deps>(
  'test.patient',
  { pausable: true, activeOnly: true, maxAgeMs: 1000 },
  async ({ handle }, one) => {
    await handle(one);
  },
);

const done: string[] = [];
const handle = async ({ payload }: Job<Note>) => void done.push(payload.text);
beforeEach(() => exec(pool, sql`INSERT INTO account (id, name) OVERRIDING SYSTEM VALUE VALUES (1, 'One'), (2, 'Two')`));
afterEach(async () => {
  done.length = 0;
  await pool.query('DELETE FROM job; DELETE FROM account');
});

const add = (text: string, more: { accountId?: number; key?: string; runAt?: Date } = {}) =>
  note.add(pool, { accountId: 1, key: null, payload: { text }, ...more });
const waiting = () =>
  many<{ text: string; tries: number; owned: boolean; isDue: boolean }>(
    pool,
    sql`SELECT payload->>'text' AS text, tries, owner IS NOT NULL AS owned, run_at <= now() AS "isDue" FROM job ORDER BY id`,
  );
const makeDue = () => exec(pool, sql`UPDATE job SET run_at = now()`);

/** Starts a worker with its own session, which `kill` ends as the death of its process would. */
async function startWorker(...jobs: Runnable[]) {
  const session = await openWorkerSession({ connectionString, log: silentLog });
  const runner = createJobRunner({ pool, owner: session.owner, jobs, paused: () => false, log: silentLog });
  await session.listen({ [JOBS_CHANNEL]: () => runner.ended.raise() });
  let killed = false;
  const kill = async () => {
    killed = true;
    await session.close();
    await expect.poll(() => many(pool, sql`SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted`)).toEqual([]);
  };
  onTestFinished(() => (killed ? undefined : session.close()));
  return { ...runner, kill };
}

test('a job that is due runs once and is gone, one for later waits', async () => {
  await add('now');
  await add('later', { runAt: new Date(Date.now() + 3_600_000) });
  expect(await countDueJobs(pool)).toEqual([{ kind: 'test.note', count: 1 }]);
  expect(await runJobs(pool, note.using({ handle }))).toBe(1);
  expect([done, (await waiting()).map(({ text }) => text)]).toEqual([['now'], ['later']]);
});

test('a job whose transaction is rolled back does not exist', async () => {
  const failing = transaction(pool, async (tx) => {
    await note.add(tx, { accountId: 1, key: null, payload: { text: 'never' } });
    throw new Error('rolled back');
  });
  await expect(failing).rejects.toThrow('rolled back');
  expect(await waiting()).toEqual([]);
});

test('a job wakes the workers when its transaction is committed', async () => {
  const worker = await startWorker(note.using({ handle }));
  await worker.work();
  const woken = worker.ended.wait(60_000);
  await add('now');
  await woken;
  await worker.work();
  await worker.idle();
  expect(done).toEqual(['now']);
});

test('several workers run each job once', async () => {
  await Promise.all(Array.from({ length: 60 }, (_, n) => add(`job ${n}`, { accountId: 1 + (n % 2) })));
  const workers = await Promise.all([1, 2, 3].map(() => runJobs(pool, note.using({ handle }))));
  expect(workers.reduce((sum, count) => sum + count)).toBe(60);
  expect(new Set(done).size).toBe(60);
});

test('a job of a killed worker is free immediately, and the killed one cannot end it any more', async () => {
  await add('now');
  const { promise: hold, resolve: goOn } = Promise.withResolvers<void>();
  const ends: boolean[] = [];
  const held = async (one: Job<Note>) => {
    await hold;
    ends.push(await transaction(pool, (tx) => one.end(tx)));
  };
  const first = await startWorker(note.using({ handle: held }));
  await first.work();
  expect(await runJobs(pool, note.using({ handle }))).toBe(0);
  await first.kill();
  expect(await waiting()).toMatchObject([{ owned: true }]);
  let triesSeen = 0;
  const second = note.using({ handle: async (one) => void (triesSeen = one.tries) });
  expect(await runJobs(pool, second)).toBe(1);
  goOn();
  await first.idle();
  expect([triesSeen, ends, await waiting()]).toEqual([2, [false], []]);
});

test('a job ends with the transaction of its work, or not at all', async () => {
  await add('now');
  const failing = async (one: Job<Note>) =>
    transaction(pool, async (tx) => {
      expect(await one.end(tx)).toBe(true);
      throw new Error('no');
    });
  await runJobs(pool, note.using({ handle: failing }));
  expect(await waiting()).toEqual([{ text: 'now', tries: 1, owned: false, isDue: false }]);
});

test('a failed job is retried later, and dropped after its last try', async () => {
  await add('now');
  const broken = note.using({ handle: () => Promise.reject(new Error('no')) });
  for (const tries of [1, 2]) {
    await runJobs(pool, broken);
    expect(await waiting()).toEqual([{ text: 'now', tries, owned: false, isDue: false }]);
    await makeDue();
  }
  await runJobs(pool, broken);
  expect(await waiting()).toEqual([]);
});

test('a job that ended its worker at each try is dropped', async () => {
  await add('now');
  await exec(pool, sql`UPDATE job SET owner = 1, tries = 3`);
  expect(await runJobs(pool, note.using({ handle }))).toBe(0);
  expect(await waiting()).toEqual([]);
});

test('a handler chooses when its job runs again, and with which payload', async () => {
  const round = job<Note, object>('test.note', {}, async (_, { payload }) =>
    payload.text === 'a'
      ? { kind: 'again', inMs: 3_600_000, payload: { text: 'b' } }
      : { kind: 'retry', inMs: 3_600_000 },
  );
  await add('a');
  await runJobs(pool, round.using({}));
  expect(await waiting()).toEqual([{ text: 'b', tries: 0, owned: false, isDue: false }]);
  await makeDue();
  await runJobs(pool, round.using({}));
  expect(await waiting()).toEqual([{ text: 'b', tries: 1, owned: false, isDue: false }]);
});

test('a job replaces the one with its key, also while that runs', async () => {
  await add('first', { key: 'k' });
  await add('second', { key: 'k' });
  const ends: boolean[] = [];
  const replaced = async (one: Job<Note>) => {
    done.push(one.payload.text);
    if (one.payload.text === 'second') await add('third', { key: 'k' });
    ends.push(await transaction(pool, (tx) => one.end(tx)));
  };
  await runJobs(pool, note.using({ handle: replaced }));
  expect([done, ends, await waiting()]).toEqual([['second', 'third'], [false, true], []]);
});

test('only jobs that have not begun can be cancelled', async () => {
  await add('now', { key: 'a' });
  const jobs = { accountId: 1, keys: ['a'] };
  expect(await note.cancel(pool, { ...jobs, accountId: 2 })).toBe(0);
  await runJobs(pool, note.using({ handle: () => Promise.reject(new Error('no')) }));
  expect(await note.cancel(pool, jobs)).toBe(0);
  await add('again', { key: 'a' });
  expect(await note.cancel(pool, jobs)).toBe(1);
});

test('accounts take turns, and none has more than its part of a worker', async () => {
  for (let n = 0; n < 1200; n++) await add(`one ${n}`);
  await add('two', { accountId: 2 });
  const { promise: hold, resolve: goOn } = Promise.withResolvers<void>();
  const held = async (one: Job<Note>) => {
    done.push(one.payload.text);
    await hold;
  };
  const worker = await startWorker(note.using({ handle: held }));
  while ((await worker.work()) === 0);
  expect(done.toSorted()).toEqual(['one 0', 'one 1', 'one 2', 'two']);
  await exec(pool, sql`DELETE FROM job WHERE owner IS NULL`);
  goOn();
  await worker.idle();
});

test('jobs of suspended accounts, and those that are paused, wait until they are too old', async () => {
  const add = () => patient.add(pool, { accountId: 1, key: null, payload: { text: 'now' } });
  await add();
  const jobs = [patient.using({ handle })];
  const [run, deleteOld] = jobTasks({ pool, owner: 1, jobs, paused: () => true, log: silentLog });
  await run?.work();
  await exec(pool, sql`UPDATE account SET status = 'suspended'`);
  expect(await runJobs(pool, ...jobs)).toBe(0);
  await exec(pool, sql`UPDATE account SET status = 'active'`);
  expect(await runJobs(pool, ...jobs)).toBe(1);
  await add();
  await deleteOld?.work();
  expect(await waiting()).toHaveLength(1);
  await exec(pool, sql`UPDATE job SET id = '00000000-0000-7000-8000-000000000000'`);
  await deleteOld?.work();
  expect(await waiting()).toEqual([]);
});

test('an account adds jobs for itself alone', async () => {
  const addAs = (accountId: number) =>
    tenantTransaction(pool, { accountId: 1 }, (tx) => note.add(tx, { accountId, key: 'k', payload: { text: 'now' } }));
  await addAs(1);
  await addAs(1);
  expect(await waiting()).toHaveLength(1);
  await expect(addAs(2)).rejects.toThrow('row-level security');
});
