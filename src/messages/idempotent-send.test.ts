import { beforeAll, beforeEach, expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, addBalances, draft, freeOver } from '../../test/support/drafts.ts';
import { reset } from '../../test/support/reset.ts';
import { many, one, sql } from '../core/db/query.ts';
import { AppError } from '../core/errors.ts';
import { insertAnswers, isKeyTaken } from '../core/idempotency.ts';
import { createWaker } from '../dispatch/pump.ts';
import { type Accept, createAccept } from './accept.ts';
import type { Verdict } from './read-send.ts';
import { idempotentSend } from './send-response.ts';

const { pool } = testDatabase();

let accept: Accept;
beforeAll(async () => {
  accept = newAccept();
  await addBalances(pool);
});
beforeEach(() =>
  reset(pool, sql`TRUNCATE message, client_message_id, dispatch_chunk, idempotency_key, simulated_outcome`),
);

const newAccept = (): Accept =>
  createAccept({
    pool,
    tables: freeOver((_, to) => (to.startsWith('+351') ? [1] : [])),
    waker: createWaker(pool),
    recentMessages: null,
  });

const seal = (key: string) => (payload: unknown) => ({
  accountId: 1,
  key,
  requestHash: Buffer.alloc(32),
  answer: Buffer.from(JSON.stringify(payload)),
});
const keyed = (key: string, answer: (verdict: Verdict) => unknown = (verdict) => verdict) =>
  idempotentSend({ accountId: 1, key, seal: seal(key) }, answer);

const stored = async () => (await one<{ n: number }>(pool, sql`SELECT count(*)::int AS n FROM message`)).n;
const answers = async () =>
  new Map(
    (await many<{ key: string; answer: Buffer }>(pool, sql`SELECT key, answer FROM idempotency_key`)).map(
      ({ key, answer }) => [key, JSON.parse(answer.toString())] as const,
    ),
  );
const taken = (answer: PromiseSettledResult<Verdict>) => answer.status === 'rejected' && isKeyTaken(answer.reason);

test.each([
  ['plain', {}],
  ['with a client id', { clientId: 'order' }],
  ['simulated', { simulation: true }],
])('the response to a send that is %s is committed with its message', async (_, more) => {
  const verdict = await accept.one(actor(), draft(more), keyed('k'));
  expect(await answers()).toEqual(new Map([['k', verdict]]));
  expect(await stored()).toBe(1);
});

test('a taken key rejects its own send, and the others in the batch are accepted', async () => {
  await insertAnswers(pool, [seal('taken')('earlier')]);
  const sends = ['taken', 'free', null, 'taken too', null].map((key) =>
    accept.one(actor(), draft(), key === null ? undefined : keyed(key)),
  );
  const [first, ...others] = await Promise.allSettled(sends);
  expect(first && taken(first)).toBe(true);
  expect(others.map(({ status }) => status)).toEqual(Array(4).fill('fulfilled'));
  expect(await stored()).toBe(4);
  expect((await answers()).get('taken')).toBe('earlier');
});

test('of many sends with one key at the same time, in two processes, one is stored', async () => {
  const both = [accept, newAccept()];
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => (both[i % 2] ?? accept).one(actor(), draft(), keyed('one'))),
  );
  expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(results.filter(taken)).toHaveLength(49);
  expect(await stored()).toBe(1);
});

test('a refusal is stored as a response; an error of the whole request is not', async () => {
  const refused = await accept.one(actor(), draft({ destination: '+999123456789' }), keyed('refused'));
  expect(await answers()).toEqual(new Map([['refused', refused]]));
  const fails = keyed('error', () => {
    throw new AppError('invalid');
  });
  await accept.one(actor(), draft({ destination: '+999123456789' }), fails);
  expect((await answers()).has('error')).toBe(false);
  await expect(accept.one(actor(), draft({ destination: '+999123456789' }), keyed('refused'))).rejects.toSatisfy(
    isKeyTaken,
  );
});
