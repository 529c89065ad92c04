import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { draft as smsDraft } from '../../test/support/drafts.ts';
import { openVerifyStage } from '../../test/support/verify.ts';
import { one, sql } from '../core/db/query.ts';
import { createWaker } from '../dispatch/pump.ts';
import { createAccept } from '../messages/accept.ts';
import { createCodeGuard, reportPlainSend } from './plain-sends.ts';

const { pool } = testDatabase();

/** An account that sends codes as plain messages, each to another number and from another address. */
async function openPlain() {
  const { deps, actor, ...stage } = await openVerifyStage(pool);
  const guard = createCodeGuard(deps);
  const accept = createAccept({ pool, tables: deps.tables, waker: createWaker(pool), recentMessages: null });
  let sends = 0;
  async function send(destination: string): Promise<string> {
    const draft = smsDraft({ destination, purpose: 'otp', userIp: `203.0.${++sends}.7` });
    const verdict = await accept.one(actor, { ...draft, decisionId: await guard(actor, draft) });
    return verdict.kind === 'accepted' ? verdict.messageId : '';
  }
  const report = (messageId: string, outcome: 'converted' | 'fraud' = 'converted') =>
    reportPlainSend(deps, actor, { messageId, outcome });
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
