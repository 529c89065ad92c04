import { afterAll, beforeAll, expect, test } from 'vitest';
import { updateAccountRate } from '../../src/accounts/accounts.ts';
import { createAccount } from '../../src/operate/account-commands.ts';
import { BULK, STATUS } from '../support/client.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';

let program: TestProgram;

beforeAll(async () => {
  program = await startTestProgram({ carriers: {} });
});
afterAll(() => program[Symbol.asyncDispose]());

const newAccount = () => createAccount(program.pool, { name: 'Limited', plan: 'production' });

test('every response states the rate limit, including errors', async () => {
  const client = program.clientOf((await newAccount()).apiKey);
  const answers = [
    await client.request('GET', `${STATUS}?ids=a`),
    await client.request('GET', STATUS),
    await client.request('GET', `${STATUS}/unknown`),
    await client.request('POST', BULK, { body: '{' }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 400, 404, 400]);
  expect(answers.map(({ headers }) => headers.get('x-ratelimit-remaining'))).toEqual(['999', '998', '997', '996']);
  for (const { headers } of answers) {
    expect(headers.get('x-ratelimit-limit')).toBe('1000');
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(0);
  }
});

test('beyond the limit, 429 says how long to wait, in the form of either API', async () => {
  const { accountId, apiKey } = await newAccount();
  await updateAccountRate(program.pool, { accountId, perMinute: 1, perSecond: 1 });
  const client = program.clientOf(apiKey);
  await client.request('GET', `${STATUS}?ids=a`);
  const { status, headers, body } = await client.request('GET', `${STATUS}?ids=a`);
  expect(status).toBe(429);
  const seconds = Number(headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(body).toEqual({
    status: 429,
    error: 'Too Many Requests',
    message: 'Too many requests',
    requestId: headers.get('x-request-id'),
    retryAfter: seconds,
  });
  const wholesale = await client.request('POST', BULK, { body: {} });
  expect(wholesale.body).toEqual({
    status: 'error',
    message: 'Too many requests',
    code: 429,
    requestId: expect.any(String),
    retryAfter: Number(wholesale.headers.get('retry-after')),
  });
  expect(Number(wholesale.headers.get('retry-after'))).toBeGreaterThan(0);
});

test('the response to a wrong key says how many failures its address has left', async () => {
  const { status, headers } = await program.clientOf(`pg_live_${'A'.repeat(43)}`).request('GET', `${STATUS}?ids=a`);
  expect([status, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([401, '60', '59']);
  expect(headers.get('www-authenticate')).toContain('Basic');
});
