import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { type MailServer, startMailServer } from '../../../test/support/mail-server.ts';
import { many, sql } from '../db/query.ts';
import { transaction } from '../db/transaction.ts';
import { silentLog } from '../lib/log.ts';
import { createSecretKey } from '../lib/secret-box.ts';
import { queueMail } from './queue.ts';
import { claimDueMail, deleteExpiredMails } from './sql.ts';
import { mailTasks } from './tasks.ts';

const secretKey = createSecretKey(Buffer.alloc(32, 7));
const MAIL = { to: 'anna@example.com', subject: 'Invitation', text: 'Perché no?\n.\nhttps://a.example/#token\n' };

let mails: MailServer;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  [mails, database] = await Promise.all([startMailServer(), createTestDatabase()]);
});
afterAll(async () => {
  await mails[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
afterEach(async () => {
  await database.pool.query('DELETE FROM outgoing_mail');
  mails.mails.length = 0;
  mails.answer = 'take';
});

const inAnHour = (): Date => new Date(Date.now() + 3_600_000);
const queue = (expiresAt = inAnHour()) =>
  transaction(database.pool, (tx) => queueMail(tx, secretKey, { ...MAIL, accountId: 1, expiresAt }));
const waiting = () =>
  many<{ attempts: number; isDue: boolean }>(
    database.pool,
    sql`SELECT attempts, due_at <= now() AS "isDue" FROM outgoing_mail`,
  );

/** Runs the task that sends mails until nothing is due. */
async function run(smtpUrl = mails.url): Promise<void> {
  const config = { mail: { smtpUrl, from: 'messages@example.com' } };
  const [task] = mailTasks({ config, pool: database.pool, secretKey, log: silentLog });
  while ((await task?.work()) === 0);
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
    await queueMail(tx, secretKey, { ...MAIL, accountId: 1, expiresAt: inAnHour() });
    throw new Error('rolled back');
  });
  await expect(rollback).rejects.toThrow('rolled back');
  await run();
  expect(mails.mails).toEqual([]);
});

test('a mail that a dead worker has claimed is sent by another one', async () => {
  await queue();
  expect(await claimDueMail(database.pool, { leaseMs: 60_000 })).toBeDefined();
  await run();
  expect(mails.mails).toEqual([]);
  await database.pool.query(`UPDATE outgoing_mail SET due_at = now()`);
  await run();
  expect(mails.mails).toHaveLength(1);
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
  expect(await waiting()).toEqual([{ attempts: 1, isDue: false }]);
  mails.answer = 'take';
  await database.pool.query(`UPDATE outgoing_mail SET due_at = now()`);
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
  await queue(new Date());
  await run();
  expect(mails.mails).toEqual([]);
  expect(await deleteExpiredMails(database.pool)).toBe(1);
});

test('beyond this machine nothing is sent without TLS', async () => {
  await queue();
  // The same server under a name that is not known to be this machine.
  await run(mails.url.replace('127.0.0.1', '0.0.0.0'));
  expect(mails.mails).toEqual([]);
  expect(await waiting()).toEqual([{ attempts: 1, isDue: false }]);
});
