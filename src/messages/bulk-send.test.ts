import { beforeAll, describe, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, flatPrice, freeOver } from '../../test/support/drafts.ts';
import { watchInserts } from '../../test/support/inserted-messages.ts';
import { countTurns, work } from '../../test/support/loop-turns.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { exec, many, sql } from '../core/db/query.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from './accept.ts';
import { deleteOldBulkRequests, findBulkRequest } from './send-response.ts';
import { type BulkDeps, sendBulk } from './send-routes.ts';
import type { BulkIn } from './send-schema.ts';

const { pool } = testDatabase();

let deps: BulkDeps;
let time = new Date();
beforeAll(async () => {
  const waker = { ...createWaker(pool), wake: () => undefined };
  const tables = { ...freeOver(() => [1]), findPrice: flatPrice(10) };
  deps = { pool, accept: createAccept({ pool, tables, waker, recentMessages: null }), clock: { now: () => time } };
});

const DESTINATIONS = ['+351912345678', 'nonsense', '+393331234567', '9'.repeat(500)];
const bulk = (more: Partial<BulkIn> = {}, destinations = DESTINATIONS): BulkIn => ({
  globalId: 'batch-1',
  messages: [{ destinations, sender: 'ACME', body: 'Hello' }],
  ...more,
});
const messagesOf = async (accountId: number): Promise<number> =>
  (await many(pool, sql`SELECT FROM message WHERE account_id = ${accountId}`)).length;
const conflict = expect.objectContaining({ code: 'conflict', status: 409 });

test('every destination has its result, in order: a bad one, however long, does not stop the others', async () => {
  const id = await createAccountWithCredit(pool, 100);
  const { globalId, accepted, results } = await sendBulk(deps, actor(id), bulk());
  expect([globalId, accepted]).toEqual(['batch-1', 2]);
  expect(results.map((r) => [r.destination, r.statusCode, r.accepted, r.id !== null])).toEqual([
    [DESTINATIONS[0], 200, true, true],
    [DESTINATIONS[1], 400, false, false],
    [DESTINATIONS[2], 200, true, true],
    [DESTINATIONS[3], 400, false, false],
  ]);
});

test('without a globalId the same body is another request', async () => {
  const id = await createAccountWithCredit(pool, 100);
  const { globalId: _, ...anonymous } = bulk();
  const answers = [await sendBulk(deps, actor(id), anonymous), await sendBulk(deps, actor(id), anonymous)];
  expect(answers.map((answer) => answer.globalId)).toEqual([null, null]);
  expect(await messagesOf(id)).toBe(4);
});

test('large requests leave the event loop and the database to single sends after a few hundred messages', async () => {
  const id = await createAccountWithCredit(pool, 100_000);
  const turns = countTurns();
  const preparedIn: number[] = [];
  const findRoute = (): number[] => {
    work(0.02);
    preparedIn.push(turns());
    return [1];
  };
  const tables = { ...freeOver(findRoute), findPrice: flatPrice(10) };
  const waker = { ...createWaker(pool), wake: () => undefined };
  const slow = { ...deps, accept: createAccept({ pool, tables, waker, recentMessages: null }) };
  const inserts = watchInserts();
  const destinations = Array.from({ length: 2500 }, (_, i) => `+3933312${10_000 + i}`);
  const large = { messages: [{ destinations, sender: 'ACME', body: 'Hello' }] };
  await Promise.all([1, 2].map(() => sendBulk(slow, actor(id), large)));
  const inserted = await inserts();
  const perTurn = [...Map.groupBy(preparedIn, (turn) => turn).values()].map((own) => own.length);
  expect(perTurn.reduce((sum, count) => sum + count)).toBe(5000);
  expect(Math.max(...perTurn)).toBeLessThan(250);
  expect(inserted).toHaveLength(10);
  expect(Math.max(...inserted)).toBe(500);
});

test('more than 10,000 destinations are too many, in however many messages', async () => {
  const half = { destinations: Array.from({ length: 5001 }, () => '+351912345678'), sender: 'ACME', body: 'Hello' };
  await expect(sendBulk(deps, actor(1), { messages: [half, half] })).rejects.toThrow(
    expect.objectContaining({ status: 413 }),
  );
});

describe('a globalId', () => {
  test('makes a repeated request send nothing, cost nothing and get the first response', async () => {
    const id = await createAccountWithCredit(pool, 100);
    const first = await sendBulk(deps, actor(id), bulk());
    expect(await sendBulk(deps, actor(id), bulk())).toEqual(first);
    expect(await messagesOf(id)).toBe(2);
    expect(await readBooks(pool, id)).toMatchObject({ available: 80, frozen: 20 });
  });

  test('is a conflict with another body, whatever differs', async () => {
    const id = await createAccountWithCredit(pool, 100);
    await sendBulk(deps, actor(id), bulk());
    for (const other of [bulk({}, DESTINATIONS.slice(1)), bulk({ simulation: true }), bulk({ enableUnicode: true })])
      await expect(sendBulk(deps, actor(id), other)).rejects.toThrow(conflict);
    expect(await messagesOf(id)).toBe(2);
  });

  test('counts once when many requests come at the same time: one stores, the others wait for its response', async () => {
    const id = await createAccountWithCredit(pool, 1000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => sendBulk(deps, actor(id), bulk())));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(await messagesOf(id)).toBe(2);
    expect(await readBooks(pool, id)).toMatchObject({ frozen: 20 });
  });

  test('counts once when many requests come at the same time and the credit is short', async () => {
    const id = await createAccountWithCredit(pool, 15);
    const answers = await Promise.all(Array.from({ length: 8 }, () => sendBulk(deps, actor(id), bulk())));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.results.map((r) => r.statusCode)).toEqual([200, 400, 402, 400]);
    expect(await readBooks(pool, id)).toMatchObject({ available: 5, frozen: 10 });
  });

  test('stores refusals too: more credit does not change the response', async () => {
    const id = await createAccountWithCredit(pool, 0);
    const first = await sendBulk(deps, actor(id), bulk());
    await exec(pool, sql`UPDATE credit_balance SET unlimited = true WHERE account_id = ${id}`);
    expect(await sendBulk(deps, actor(id), bulk())).toEqual(first);
    expect(first.accepted).toBe(0);
  });

  test('keeps its response when the schedule of the request has passed', async () => {
    const id = await createAccountWithCredit(pool, 100);
    const scheduling = new Date(time.getTime() + 60_000).toISOString();
    const scheduled = bulk({ messages: bulk().messages.map((message) => ({ ...message, scheduling })) });
    const first = await sendBulk(deps, actor(id), scheduled);
    time = new Date(time.getTime() + 3_600_000);
    expect(await sendBulk(deps, actor(id), scheduled)).toEqual(first);
    const later = { ...scheduled, globalId: 'another' };
    await expect(sendBulk(deps, actor(id), later)).rejects.toThrow(expect.objectContaining({ status: 400 }));
  });

  test('is separate for each account', async () => {
    const [one, two] = [await createAccountWithCredit(pool, 100), await createAccountWithCredit(pool, 100)];
    const first = await sendBulk(deps, actor(one), bulk());
    expect((await sendBulk(deps, actor(two), bulk({}, ['+351912345679']))).accepted).toBe(1);
    expect(await sendBulk(deps, actor(one), bulk())).toEqual(first);
  });

  test('of a request that could not be stored is free', async () => {
    const id = await createAccountWithCredit(pool, 100);
    const once: Accept['once'] = (by, drafts, request) =>
      deps.accept.once(by, drafts, { ...request, record: () => Promise.reject(new Error('disk full')) });
    const failing = { ...deps, accept: { ...deps.accept, once } };
    await expect(sendBulk(failing, actor(id), bulk())).rejects.toThrow('disk full');
    expect([await messagesOf(id), await findBulkRequest(pool, { accountId: id, globalId: 'batch-1' })]).toEqual([
      0,
      undefined,
    ]);
    expect((await sendBulk(deps, actor(id), bulk({}, ['+351912345678']))).accepted).toBe(1);
  });

  test('is free again after 24 hours, also for another body, and is then deleted', async () => {
    const id = await createAccountWithCredit(pool, 100);
    await sendBulk(deps, actor(id), bulk());
    const age = sql`UPDATE bulk_request SET created_at = created_at - interval '24 hours' WHERE account_id = ${id}`;
    await exec(pool, age);
    expect((await sendBulk(deps, actor(id), bulk({}, ['+351912345678']))).results).toHaveLength(1);
    expect(await messagesOf(id)).toBe(3);
    await exec(pool, age);
    expect(await deleteOldBulkRequests(pool)).toBe(1);
    expect(await deleteOldBulkRequests(pool)).toBe(0);
  });
});
