import { expect, test } from 'vitest';
import { testDatabase } from '../../test/support/database.ts';
import { openVerifyStage, PRICE_MICROS } from '../../test/support/verify.ts';
import { many, one, sql } from '../core/db/query.ts';
import { createAccountWithCredit, readBooks } from '../../test/support/money.ts';
import { checkCode } from './ending.ts';
import { startVerification } from './verification.ts';

const { pool } = testDatabase();

const WRONG = 'wrong-0';
let numbers = 0;
/** A number that no other test uses. */
const someNumber = (): string => `+3933312${String(10_000 + ++numbers)}`;

test('of a hundred right checks at the same time exactly one is valid, and the code is gone', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const { verification } = await stage.start(service, { to: someNumber() });
  const code = (await stage.codeOf(verification.id)) ?? '';
  expect(code).toMatch(/^\d{6}$/);
  const checks = await Promise.allSettled(
    Array.from({ length: 100 }, () => stage.check({ id: verification.id, code })),
  );
  const valid = checks.flatMap((check) => (check.status === 'fulfilled' ? [check.value] : []));
  expect(valid).toEqual([{ id: verification.id, status: 'APPROVED', valid: true, checksLeft: 0 }]);
  const refused = checks.flatMap((check) => (check.status === 'rejected' ? [check.reason.code] : []));
  expect(new Set(refused)).toEqual(new Set(['already_used']));
  expect(await stage.codeOf(verification.id)).toBeUndefined();
});

test('a hundred wrong checks at the same time count five, whatever the order, and end the verification', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const { verification } = await stage.start(service, { to: someNumber() });
  const code = (await stage.codeOf(verification.id)) ?? '';
  const checks = await Promise.all(
    Array.from({ length: 100 }, () => stage.check({ id: verification.id, code: WRONG })),
  );
  expect(
    checks
      .map(({ checksLeft }) => checksLeft)
      .sort((a, b) => b - a)
      .slice(0, 4),
  ).toEqual([4, 3, 2, 1]);
  expect(checks.some(({ valid }) => valid)).toBe(false);
  const row = await one(pool, sql`SELECT status, checks FROM verification WHERE id = ${verification.id}`);
  expect(row).toEqual({ status: 'MAX_CHECKS', checks: 5 });
  expect(await stage.check({ id: verification.id, code })).toMatchObject({ status: 'MAX_CHECKS', valid: false });
});

test('a number has one open verification for a service: requests meanwhile send the same code again, no sooner than allowed', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const to = someNumber();
  const both = await Promise.allSettled([stage.start(service, { to }), stage.start(service, { to })]);
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const [first] = both.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [soon] = both.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  expect(soon).toMatchObject({ code: 'resend_too_soon', retryAfterSeconds: 30 });
  const id = first?.verification.id ?? '';
  const code = await stage.codeOf(id);
  for (const wait of [30, 60, 120]) {
    stage.pass(wait - 1);
    await expect(stage.start(service, { to })).rejects.toMatchObject({ code: 'resend_too_soon' });
    stage.pass(1);
    const again = await stage.start(service, { to });
    expect(again).toMatchObject({ isNew: false, verification: { id } });
  }
  expect(await stage.codeOf(id)).toBe(code);
  const bodies = (await stage.submitted()).map(({ body }) => body);
  expect(bodies).toEqual(Array(4).fill(`${code} is your Acme code. It expires in 10 minutes. Do not share it.`));
});

test('guesses count for the number over resends and verifications: ten within an hour lock it', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const to = someNumber();
  for (let round = 0; round < 2; round++) {
    const { verification } = await stage.start(service, { to });
    for (let guess = 0; guess < 4; guess++) await stage.check({ id: verification.id, code: WRONG });
    stage.pass(31);
    await stage.resend(verification.id);
    await stage.check({ serviceId: service.id, to, code: WRONG });
    stage.pass(61);
  }
  await expect(stage.start(service, { to })).rejects.toMatchObject({ code: 'number_locked' });
  stage.pass(3600);
  const { verification } = await stage.start(service, { to });
  const code = (await stage.codeOf(verification.id)) ?? '';
  expect(await stage.check({ serviceId: service.id, to, code })).toMatchObject({ valid: true });
  // An approval does not reset the day.
  const other = await stage.service();
  stage.pass(601);
  for (let round = 0; round < 2; round++) {
    const next = await stage.start(other, { to });
    for (let guess = 0; guess < 5; guess++) await stage.check({ id: next.verification.id, code: WRONG });
    stage.pass(601);
  }
  stage.pass(3600);
  await expect(stage.start(other, { to })).rejects.toMatchObject({ code: 'number_locked' });
});

test('a number gets five codes in ten minutes and ten a day, over all services', async () => {
  const stage = await openVerifyStage(pool);
  const to = someNumber();
  for (let n = 0; n < 5; n++) await stage.start(await stage.service(), { to });
  const next = await stage.service();
  await expect(stage.start(next, { to })).rejects.toMatchObject({ code: 'too_many_codes', retryAfterSeconds: 600 });
  stage.pass(600);
  for (let n = 0; n < 5; n++) await stage.start(await stage.service(), { to });
  stage.pass(3600);
  await expect(stage.start(next, { to })).rejects.toMatchObject({ code: 'too_many_codes' });
});

test('a code is stored nowhere in clear, and what is sent after the end of its verification is refused', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service({ autofill: { web: 'example.com', android: 'FA+9qCX9VSu' } });
  const { verification } = await stage.start(service, { to: someNumber() });
  const code = (await stage.codeOf(verification.id)) ?? '';
  const { body, parts } = await one<{ body: string; parts: number }>(
    pool,
    sql`SELECT body, parts FROM message WHERE account_id = ${stage.accountId}`,
  );
  expect([body, parts]).toEqual([
    '•••••• is your Acme code. It expires in 10 minutes. Do not share it.\nFA+9qCX9VSu\n\n@example.com #••••••',
    1,
  ]);
  const [job] = await stage.submitted();
  expect(job?.body).toBe(body.replaceAll('••••••', code));
  stage.pass(600);
  const late = await stage.start(service, { to: someNumber() });
  await stage.check({ id: late.verification.id, code: (await stage.codeOf(late.verification.id)) ?? '' });
  expect(await stage.submitted()).toMatchObject([{ refusal: { code: 'CODE_GONE' } }]);
  await stage.work();
  expect(await many(pool, sql`SELECT FROM verification_code WHERE account_id = ${stage.accountId}`)).toEqual([]);
  expect(await stage.check({ id: verification.id, code })).toMatchObject({ status: 'EXPIRED', valid: false });
});

test('without credit nothing is stored, and a code costs what its message costs', async () => {
  const stage = await openVerifyStage(pool, { creditMicros: PRICE_MICROS });
  const service = await stage.service();
  await stage.start(service, { to: someNumber() });
  expect(await readBooks(pool, stage.accountId)).toMatchObject({ frozen: PRICE_MICROS, available: 0 });
  await expect(stage.start(service, { to: someNumber() })).rejects.toMatchObject({
    code: 'conflict',
    message: expect.stringContaining('credit'),
  });
  const rows = await many(pool, sql`SELECT FROM verification WHERE account_id = ${stage.accountId}`);
  expect(rows).toHaveLength(1);
});

test('a verification that no channel can deliver is UNDELIVERED, and one that another may still reach is not', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const { verification } = await stage.start(service, { to: someNumber() });
  await stage.report(verification.id, 'DELIVERED');
  const other = await stage.start(service, { to: someNumber() });
  await stage.report(other.verification.id, 'UNDELIVERABLE');
  await stage.work();
  const rows = await many(
    pool,
    sql`SELECT status, delivery FROM verification WHERE account_id = ${stage.accountId} ORDER BY id`,
  );
  expect(rows).toEqual([
    { status: 'PENDING', delivery: 'DELIVERED' },
    { status: 'UNDELIVERED', delivery: 'FAILED' },
  ]);
});

test('a verification of another account is like an unknown one', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service();
  const { verification } = await stage.start(service, { to: someNumber() });
  const code = (await stage.codeOf(verification.id)) ?? '';
  const stranger = { accountId: await createAccountWithCredit(pool, 0) };
  const unknown = { id: '01a1fd63-cf7c-7183-929b-000000000099', code };
  for (const check of [
    { id: verification.id, code },
    unknown,
    { serviceId: service.id, to: verification.number, code },
  ])
    await expect(checkCode(stage.deps, stranger, check)).rejects.toMatchObject({ code: 'no_open_verification' });
});

test('with codes of the client the guard and the limits hold, and a new code replaces the one before', async () => {
  const stage = await openVerifyStage(pool);
  const service = await stage.service({ codeMode: 'provided' });
  const to = someNumber();
  await expect(startVerification(stage.deps, stage.actor, service, { to })).rejects.toMatchObject({ code: 'invalid' });
  const { verification } = await stage.start(service, { to, code: '424242' });
  stage.pass(30);
  await stage.start(service, { to, code: '515151' });
  expect((await stage.submitted()).map(({ body }) => body.slice(0, 6))).toEqual(['515151', '515151']);
  expect(await stage.check({ id: verification.id, code: '424242' })).toMatchObject({ valid: false });
  expect(await stage.check({ id: verification.id, code: '515151' })).toMatchObject({ valid: true });
});
