import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { actor, draft as smsDraft } from '../../test/support/drafts.ts';
import { KEY, openVerifyStage, settings } from '../../test/support/verify.ts';
import { maybeOne, one, sql } from '../core/db/query.ts';
import { tenantTransaction, transaction } from '../core/db/transaction.ts';
import { createWaker } from '../dispatch/pump.ts';
import { createAccept } from '../messages/accept.ts';
import type { Draft } from '../messages/read-send.ts';
import { createGuardedAccept, reportPlainSend } from './plain-sends.ts';
import { addService, type GuardSettings } from './services.ts';

const { pool } = testDatabase();

/** An account that sends codes as plain messages, each to another number and from another address. */
async function openPlain() {
  const { deps, actor: by, ...stage } = await openVerifyStage(pool);
  const accept = createAccept({ ...deps, waker: createWaker(pool), recentMessages: null });
  const acceptGuarded = createGuardedAccept({ pool, tables: deps.tables, clock: deps.clock, accept });
  let sends = 0;
  async function send(destination: string, more: Partial<Draft> = {}): Promise<string> {
    const draft = smsDraft({ destination, purpose: 'otp', userIp: `203.0.${++sends}.7`, ...more });
    const verdict = await acceptGuarded(by, draft);
    return verdict.kind === 'accepted' ? verdict.messageId : verdict.kind;
  }
  const report = (messageId: string, outcome: 'converted' | 'fraud' = 'converted') =>
    tenantTransaction(pool, by, (tx) => reportPlainSend(tx, by, { messageId, outcome, at: deps.clock.now() }));
  return { ...stage, send, report };
}

const attacked = (n: number): string => `+39333124${n % 4}${100 + n}`;
const usual = (n: number): string => `+39347${1_000_000 + n * 31_111}`;

test('a range whose codes are not entered is paused as soon as the client reports those of others', async () => {
  const { send, report, pass } = await openPlain();
  for (let n = 0; n < 24; n++) {
    // Too slow to be stopped for its velocity.
    if (n === 12) pass(12 * 60);
    await send(attacked(n));
    await report(await send(usual(n)));
  }
  pass(12 * 60);
  await expect(send(attacked(24))).rejects.toMatchObject({
    code: 'verification_blocked',
    fields: { reasons: expect.arrayContaining([expect.objectContaining({ rule: 'range_conversion' })]) },
  });
  expect(await send(usual(24))).not.toBe('');
});

test('a client that reports nothing, or only fraud, does not look like an attack', async () => {
  const { send, report, pass } = await openPlain();
  await report(await send(usual(0)), 'fraud');
  for (let n = 0; n < 24; n++) {
    if (n === 12) pass(12 * 60);
    await send(attacked(n));
  }
  pass(12 * 60);
  expect(await send(attacked(24))).not.toBe('');
});

test('an outcome is recorded once, for messages of the account that passed the guard', async () => {
  const { send, report } = await openPlain();
  const other = await openPlain();
  const id = await send(usual(0));
  await expect(other.report(id)).rejects.toMatchObject({ code: 'not_found' });
  await expect(report('01a1fd63-cf7c-7183-929b-000000000015')).rejects.toMatchObject({ code: 'not_found' });
  await Promise.allSettled([report(id), report(id)]);
  await expect(report(id)).rejects.toMatchObject({ code: 'conflict' });
});

test('receipts of plain messages count, so that an outage is not taken for an attack', async () => {
  const { accountId, send, report, work, end } = await openPlain();
  const [delivered, failed] = [await send(usual(0)), await send(usual(1))];
  await end(delivered, 'DELIVERED');
  await end(failed, 'UNDELIVERABLE');
  await report(delivered);
  await work();
  await work();
  expect(
    await one(
      pool,
      sql`SELECT sent, approved, delivered, failed FROM verify_counter
          WHERE account_id = ${accountId} AND kind = 'country' AND key = 'plain/IT' AND minutes = 60`,
    ),
  ).toEqual({ sent: 2, approved: 1, delivered: 1, failed: 1 });
});

test('a client that reports a few of its codes, or yesterday’s, does not look like an attack', async () => {
  const { send, report, pass } = await openPlain();
  for (let n = 0; n < 60; n++) {
    const id = await send(usual(n));
    if (n % 20 === 0) await report(id);
  }
  pass(10 * 60);
  expect(await send(usual(60))).not.toBe('');
  pass(12 * 3600);
  for (let n = 0; n < 24; n++) expect(await send(attacked(n))).not.toBe('');
  pass(12 * 60);
  expect(await send(attacked(25))).not.toBe('');
});

test('a repeated send counts once and is answered as the first, whatever the guard would say now', async () => {
  const { accountId, send } = await openPlain();
  await insertGuard(accountId, { maxCostPerHour: 0.09 });
  const first = await send(usual(0), { clientId: 'order 1' });
  expect(await send(usual(0), { clientId: 'order 1' })).toBe(first);
  expect(await send(usual(1), { clientId: 'order 1' })).toBe('conflict');
  await expect(send(usual(2))).rejects.toMatchObject({ code: 'cost_cap' });
  expect(await countsOf(accountId)).toEqual({ sent: 1 });
});

test('a rejected send does not count', async () => {
  const { accountId, send } = await openPlain();
  expect(await send(usual(0), { body: '' })).toBe('refused');
  expect(await countsOf(accountId)).toBeUndefined();
});

test('a cost cap holds while the guard only monitors, also when another rule comes first', async () => {
  const { accountId, send } = await openPlain();
  await insertGuard(accountId, { mode: 'monitor', maxCostPerHour: 1 });
  const sameUser = { userIp: '198.51.100.7' };
  for (let n = 0; n < 20; n++) await send(usual(n), sameUser);
  await expect(send(usual(20), sameUser)).rejects.toMatchObject({
    code: 'cost_cap',
    fields: { reasons: expect.arrayContaining([expect.objectContaining({ rule: 'address_velocity' })]) },
  });
});

const countsOf = (accountId: number) =>
  maybeOne<{ sent: number }>(
    pool,
    sql`SELECT sent FROM verify_counter
        WHERE account_id = ${accountId} AND kind = 'country' AND key = 'plain/IT' AND minutes = 60`,
  );

const insertGuard = (accountId: number, guard: GuardSettings) =>
  transaction(pool, (tx) =>
    addService(tx, actor(accountId), { name: 'default', settings: settings({ guard }), secretKey: KEY }),
  );
