import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase } from '../../test/support/database.ts';
import { runJobs } from '../../test/support/jobs.ts';
import { type MailServer, startMailServer } from '../../test/support/mail-server.ts';
import { many, one, sql } from './db/query.ts';
import { tenantTransaction, transaction } from './db/transaction.ts';
import { AppError } from './errors.ts';
import { silentLog } from './log.ts';
import {
  countDropped,
  deleteUnusedBudgets,
  type MailKind,
  mailJobs,
  mailOrDrop,
  mailOrRefuse,
  type NewMail,
} from './mail.ts';
import { createSecretKey } from './secrets.ts';

const secretKey = createSecretKey(Buffer.alloc(32, 7));
const MAIL = { to: 'anna@example.com', subject: 'Invitation', text: 'Perché no?\n.\nhttps://a.example/#token\n' };

let mails: MailServer;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  [mails, database] = await Promise.all([startMailServer(), createTestDatabase()]);
  await database.pool.query(`INSERT INTO account (id, name, plan) OVERRIDING SYSTEM VALUE
    SELECT n, 'Account ' || n, CASE WHEN n < 10 THEN 'unlimited' WHEN n < 20 THEN 'trial' ELSE 'production' END
    FROM generate_series(1, 29) AS n`);
});
afterAll(async () => {
  await mails[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
afterEach(async () => {
  await database.pool.query('TRUNCATE job, mail_budget');
  mails.mails.length = 0;
  mails.answer = 'take';
  mails.pace = async () => undefined;
});

const inAnHour = (): Date => new Date(Date.now() + 3_600_000);
/** An invitation of account 1, except for `fields`. */
const mailWith = (fields: Partial<NewMail> = {}): NewMail => ({
  ...MAIL,
  kind: 'invitation',
  accountId: 1,
  expiresAt: inAnHour(),
  ...fields,
});
const queue = (fields: Partial<NewMail> = {}) =>
  tenantTransaction(database.pool, { accountId: fields.accountId ?? 1 }, (tx) =>
    mailOrRefuse(tx, secretKey, mailWith(fields)),
  );
/** Returns the number of mails queued of several at the same time; the others are rejected. */
async function countQueued(count: number, fields: (n: number) => Partial<NewMail>): Promise<number> {
  const results = await Promise.allSettled(Array.from({ length: count }, (_, n) => queue(fields(n))));
  for (const result of results)
    if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'rate_limited' });
  return results.filter(({ status }) => status === 'fulfilled').length;
}
const waiting = () =>
  many<{ tries: number; isDue: boolean }>(database.pool, sql`SELECT tries, run_at <= now() AS "isDue" FROM job`);

/** Sends mails until nothing is due. */
function run(smtpUrl = mails.url): Promise<number> {
  const config = { mail: { smtpUrl, from: 'messages@example.com' } };
  return runJobs(database.pool, ...mailJobs({ config, pool: database.pool, secretKey, log: silentLog }));
}

test('a mail arrives as it was written, from us alone, and is gone from the queue', async () => {
  await queue();
  await run();
  const [mail] = mails.mails;
  expect(mail).toMatchObject({ from: 'messages@example.com', to: ['anna@example.com'] });
  expect(mail?.text.trimEnd()).toBe(MAIL.text.trimEnd());
  expect(mail?.headers).toContain('Auto-Submitted: auto-generated');
  expect(await waiting()).toEqual([]);
});

test('a mail whose transaction is rolled back is not sent', async () => {
  const rollback = transaction(database.pool, async (tx) => {
    await mailOrRefuse(tx, secretKey, mailWith());
    throw new Error('rolled back');
  });
  await expect(rollback).rejects.toThrow('rolled back');
  await run();
  expect(mails.mails).toEqual([]);
});

test('two workers do not send one mail twice', async () => {
  await queue();
  await Promise.all([run(), run()]);
  expect(mails.mails).toHaveLength(1);
});

test.each(['later', 'unreachable'])('a mail that is not taken (%s) waits for another attempt', async (how) => {
  if (how === 'later') mails.answer = 'later';
  await queue();
  await run(how === 'unreachable' ? 'smtp://127.0.0.1:1' : mails.url);
  expect(await waiting()).toEqual([{ tries: 1, isDue: false }]);
  mails.answer = 'take';
  await database.pool.query(`UPDATE job SET run_at = now()`);
  await run();
  expect(mails.mails).toHaveLength(1);
});

test('a mail that the server refuses for good is not offered again', async () => {
  mails.answer = 'never';
  await queue();
  await run();
  expect(await waiting()).toEqual([]);
});

test('a mail whose link has ended is not sent', async () => {
  await queue({ expiresAt: new Date() });
  await run();
  expect([mails.mails, await waiting()]).toEqual([[], []]);
});

test('beyond this machine nothing is sent without TLS', async () => {
  await queue();
  // The same server under a name that is not known to be this machine.
  await run(mails.url.replace('127.0.0.1', '0.0.0.0'));
  expect(mails.mails).toEqual([]);
  expect(await waiting()).toEqual([{ tries: 1, isDue: false }]);
});

describe('a recipient gets no more than', () => {
  test('three mails an hour and ten a day, from all senders together', async () => {
    expect(await countQueued(20, (n) => ({ accountId: 1 + (n % 25) }))).toBe(3);
    await database.pool.query(
      `UPDATE mail_budget SET taken_at = ARRAY(SELECT t - interval '1 hour' FROM unnest(taken_at) t)`,
    );
    expect(await countQueued(6, (n) => ({ accountId: 1 + n }))).toBe(3);
    await database.pool.query(`UPDATE mail_budget SET taken_at = array_fill(now() - interval '2 hours', ARRAY[10])
                               WHERE cardinality(taken_at) = 6`);
    const refusal: unknown = await queue({ accountId: 2 }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AppError);
    expect(refusal).toMatchObject({ code: 'rate_limited', retryAfterSeconds: 22 * 3600 });
  });

  test('that under other spellings of the address', async () => {
    const spellings = ['anna@example.com', 'ANNA@example.com', 'anna+1@example.com', 'Anna+2@Example.com'];
    expect(await countQueued(4, (n) => ({ to: spellings[n] ?? '' }))).toBe(3);
  });

  test('three links for a new password an hour, which other mails cannot use up', async () => {
    expect(await countQueued(5, () => ({ kind: 'invitation' }))).toBe(3);
    expect(await countQueued(5, () => ({ kind: 'reset' }))).toBe(3);
  });

  test('three copies of a trial account, but those that a customer reads by mail', async () => {
    expect(await countQueued(20, () => ({ kind: 'copy', accountId: 11 }))).toBe(3);
    expect(await countQueued(70, () => ({ kind: 'copy', accountId: 21 }))).toBe(60);
  });

  test("three notices of a customer's account, whatever other accounts have sent there", async () => {
    expect(await countQueued(5, () => ({ kind: 'invitation', accountId: 11 }))).toBe(3);
    expect(await countQueued(5, () => ({ kind: 'notice', accountId: 21 }))).toBe(3);
    expect(await countQueued(5, () => ({ kind: 'notice', accountId: 12 }))).toBe(0);
  });
});

test('an account sends as many mails in a day as its plan has, at any addresses', async () => {
  const fields = (kind: MailKind, accountId: number) => (n: number) => ({
    kind,
    accountId,
    to: `${kind}${n}@example.com`,
  });
  expect(await countQueued(25, fields('invitation', 11))).toBe(20);
  expect(await countQueued(3, fields('notice', 11))).toBe(0);
  expect(await countQueued(3, fields('reset', 11))).toBe(3);
  expect(await countQueued(25, fields('copy', 21))).toBe(25);
});

test('an account that has used up its own budget uses up no recipient', async () => {
  await countQueued(20, (n) => ({ accountId: 11, to: `${n}@example.com` }));
  expect(await countQueued(5, () => ({ accountId: 11 }))).toBe(0);
  expect(await countQueued(5, () => ({ accountId: 12 }))).toBe(3);
});

test('a mail that is not awaited is dropped and counted when its budget is used up', async () => {
  await countQueued(3, () => ({ kind: 'notice' }));
  const usedUp = await transaction(database.pool, (tx) =>
    mailOrDrop(tx, { secretKey, log: silentLog }, mailWith({ kind: 'notice' })),
  );
  expect(usedUp).toMatchObject({ of: 'recipient' });
  expect(await waiting()).toHaveLength(3);
  expect(await countDropped(database.pool)).toBe(1);
});

test('what was refused is not counted, and budgets are forgotten after a day without the address', async () => {
  await countQueued(5, () => ({}));
  const { text } = await one<{ text: string }>(
    database.pool,
    sql`SELECT string_agg(b::text, '') AS text FROM mail_budget b`,
  );
  expect(text).not.toMatch(/anna|example/);
  expect(await countDropped(database.pool)).toBe(0);
  expect(await deleteUnusedBudgets(database.pool)).toBe(0);
  await database.pool.query(`UPDATE mail_budget SET taken_at[1] = now() - interval '25 hours'`);
  expect(await deleteUnusedBudgets(database.pool)).toBe(1);
});

test('behind the invitations of five accounts a new password goes next, and another account soon', async () => {
  const held: (() => void)[] = [];
  mails.pace = () => new Promise<void>((resolve) => void held.push(resolve));
  for (let n = 0; n < 100; n++) await queue({ accountId: 1 + (n % 5), to: `${n}@example.com` });
  const running = run();
  await expect.poll(() => held.length).toBe(4);
  await queue({ accountId: 6, to: 'late@example.com' });
  await queue({ accountId: 11, kind: 'reset', to: 'reset@example.com' });
  await expect.poll(() => held.length).toBe(5);
  held.pop()?.();
  await expect.poll(() => mails.mails.map(({ to }) => to[0])).toEqual(['reset@example.com']);
  // One connection becomes free at a time, so that mails arrive in the order of their turns.
  while (mails.mails.length < 15) {
    held.shift()?.();
    await expect.poll(() => held.length).toBe(4);
  }
  mails.pace = async () => undefined;
  for (const release of held) release();
  await running;
  const order = mails.mails.flatMap(({ to }) => to);
  expect(order).toHaveLength(102);
  expect(order.indexOf('late@example.com')).toBeLessThanOrEqual(10);
});
