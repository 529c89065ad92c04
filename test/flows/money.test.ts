import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/core/time.ts';
import { createAccount, type NewAccount } from '../../src/operate/account-commands.ts';
import type { Client } from '../support/client.ts';
import { readBooks } from '../support/money.ts';
import { runOperatorCommand } from '../support/operator.ts';
import { startTestProgram, type TestProgram } from '../support/program.ts';
import { until } from '../support/until.ts';

let program: TestProgram;
beforeAll(async () => {
  program = await startTestProgram();
});
afterAll(() => program[Symbol.asyncDispose]());

/** Creates a client whose account has this much credit, in millionths. */
async function payer(creditMicros: number): Promise<{ account: NewAccount; client: Client }> {
  const account = await createAccount(program.pool, { name: 'Payer', plan: 'production', creditMicros });
  return { account, client: program.clientOf(account.apiKey) };
}

async function creditOf(client: Client): Promise<unknown[]> {
  const [wholesale, subscription] = await Promise.all([
    client.request('GET', '/services/sms/credit'),
    client.request('GET', '/api/partner-gateway/v1/subscription/credit'),
  ]);
  return [wholesale.body, subscription.body];
}
const credits = (availableCredit: number, frozenCredit: number): unknown[] => [
  { credit: availableCredit },
  { credit: availableCredit + frozenCredit, frozenCredit, availableCredit, currency: 'EUR' },
];

const bulk = (destinations: readonly string[], more: object = {}) => ({
  messages: [{ destinations, sender: 'ACME', body: 'Hello', ...more }],
});
/** Numbers whose last four digits have no special meaning in the sandbox. */
const numbers = (count: number): string[] => Array.from({ length: count }, (_, n) => `+3933312300${10 + n}`);

type Timeline = {
  readonly events: readonly { readonly kind: string; readonly text: string | null; readonly amount?: number }[];
};
async function timelineOf(client: Client, id: string | null): Promise<Timeline['events']> {
  const { status, body } = await client.request('GET', `/api/partner-gateway/v1/messages/${id}/timeline`);
  expect(status).toBe(200);
  return (body as Timeline).events;
}

test('the credit is exact, and a delivered message costs as many units as it has parts', async () => {
  const { client } = await payer(1_000_000);
  expect(await creditOf(client)).toEqual(credits(1, 0));
  const { messageId } = await client.send({ phoneNumber: '+393331230001', message: 'a'.repeat(161) });
  await client.untilStatus(messageId ?? '', 'DELIVERED');
  expect(await creditOf(client)).toEqual(credits(0.93, 0));
  expect((await client.status(messageId ?? '')).price).toBe(0.07);
});

test('a bulk send beyond the credit refuses the last messages with 402, and more credit lets them pass', async () => {
  const { account, client } = await payer(120_000);
  const first = await client.bulk(bulk(numbers(5)));
  expect(first.results.map((result) => result.statusCode)).toEqual([200, 200, 200, 402, 402]);
  const single = await client.send({ phoneNumber: '+393331230001', message: 'Hello' });
  expect(single).toMatchObject({
    messageId: null,
    results: [
      {
        statusCode: 402,
        reasons: [expect.stringMatching(/^insufficient credit: .* 0.035 EUR, and 0.015 is available$/)],
      },
    ],
  });
  await client.untilAll(
    first.results.flatMap(({ id }) => id ?? []),
    'DELIVERED',
  );
  expect(await creditOf(client)).toEqual(credits(0.015, 0));
  expect((await runOperatorCommand(program, 'credit', 'add', String(account.accountId), '0.02')).code).toBe(0);
  expect((await client.bulk(bulk(numbers(2)))).results.map((result) => result.statusCode)).toEqual([200, 402]);
});

test('messages that the carrier refuses are refunded, and the timeline shows it', async () => {
  const { account, client } = await payer(100_000);
  const { messageId } = await client.send({ phoneNumber: '+393331239909', message: 'Hello' });
  await until('it is refused', async () => (await client.status(messageId ?? '')).deliveryStatusCode > 1);
  expect(await creditOf(client)).toEqual(credits(0.1, 0));
  expect((await timelineOf(client, messageId)).at(-1)).toMatchObject({
    kind: 'CREDIT',
    text: 'returned',
    amount: 0.035,
  });
  expect(await readBooks(program.pool, account.accountId)).toMatchObject({ available: 100_000, earned: 0 });
});

test('the prices in status, history and export add up to what was spent by the ledger', async () => {
  const { account, client } = await payer(1_000_000);
  const refused = ['+393331239909', '+393331249909'];
  const { results } = await client.bulk(bulk([...numbers(3), ...refused]));
  const books = await until('all are settled', async () => {
    const now = await readBooks(program.pool, account.accountId);
    return now.frozen === 0 && now;
  });
  const spent = books.earned / 1_000_000;
  expect(spent).toBe(0.105);
  const statuses = await Promise.all(results.map(({ id }) => client.status(id ?? '')));
  expect(statuses.map(({ price }) => price)).toEqual([0.035, 0.035, 0.035, 0, 0]);
  expect(sumOf(statuses.map(({ price }) => price ?? Number.NaN))).toBe(spent);
  expect(sumOf((await exportedLines(client)).map((line) => Number(line['price'])))).toBe(spent);
  expect((await timelineOf(client, results[4]?.id ?? null)).find(({ kind }) => kind === 'PRICED')?.amount).toBe(0.035);
});

const sumOf = (prices: readonly number[]): number =>
  prices.reduce((sum, price) => sum + Math.round(price * 1e6), 0) / 1e6;

/** Exports the messages of the last hour and returns the lines of the file. */
async function exportedLines(client: Client): Promise<Record<string, string>[]> {
  const now = Date.now();
  const [startDateTime, endDateTime] = [now - HOUR_MS, now + HOUR_MS].map((at) => new Date(at).toISOString());
  const asked = await client.request('POST', '/api/partner-gateway/v1/messages/history/export', {
    body: { startDateTime, endDateTime },
  });
  const { exportId } = asked.body as { exportId: string };
  const url = await until('the file', async () => {
    const { body } = await client.request('GET', `/api/partner-gateway/v1/exports/${exportId}`);
    return (body as { downloadUrl: string | null }).downloadUrl ?? undefined;
  });
  const { pathname, search } = new URL(url, program.origin());
  return parse(await (await fetch(`${program.origin()}${pathname}${search}`)).text(), { columns: true });
}

test("a throttled message is retried and paid once; its timeline shows every attempt with the carrier's text", async () => {
  const { client } = await payer(100_000);
  const { messageId } = await client.send({ phoneNumber: '+393331239910', message: 'Hello' });
  await client.untilStatus(messageId ?? '', 'DELIVERED');
  expect(await creditOf(client)).toEqual(credits(0.065, 0));
  const events = await timelineOf(client, messageId);
  const attempts = events.filter(({ kind }) => kind === 'ATTEMPT');
  expect(attempts).toMatchObject([
    ...[1, 2, 3].map((attempt) => ({ attempt, outcome: 'RETRY', code: 'ESME_RTHROTTLED', connection: 'main' })),
    { attempt: 4, outcome: 'ACCEPTED', carrierIds: [expect.any(String)] },
  ]);
  expect(events.find(({ kind }) => kind === 'RECEIPT')?.text).toMatch(/^id:.* stat:DELIVRD/);
});

describe('prices', () => {
  const unit = async (client: Client): Promise<number> => {
    const { messageId } = await client.send({ phoneNumber: '+447700900123', message: 'Hello' });
    return messageId === null ? Number.NaN : ((await client.status(messageId)).price ?? Number.NaN);
  };

  async function removePrice(prefix: string): Promise<void> {
    const { answer } = await runOperatorCommand(program, 'price', 'list', '--channel', 'SMS');
    const price = (answer as { data: { id: number; prefix: string }[] }).data.find((each) => each.prefix === prefix);
    await runOperatorCommand(program, 'price', 'remove', String(price?.id));
  }

  test('set by the operator take effect at once in the running program; a number without a price is refused', async () => {
    const { client } = await payer(10_000_000);
    expect(await unit(client)).toBe(0.035);
    await runOperatorCommand(program, 'price', 'set', '--channel', 'SMS', '--prefix', '44', '--price', '0.12');
    await until('the new price', async () => (await unit(client)) === 0.12);
    await removePrice('44');
    await until('the old price', async () => (await unit(client)) === 0.035);
    await removePrice('');
    await until('no price', async () => Number.isNaN(await unit(client)));
    const refused = await client.send({ phoneNumber: '+447700900123', message: 'Hello' });
    expect(refused.results).toMatchObject([
      { statusCode: 400, reasons: ['the price list has no price for this number'] },
    ]);
    await runOperatorCommand(program, 'price', 'set', '--channel', 'SMS', '--price', '0.035');
    await until('a price', async () => (await unit(client)) === 0.035);
  });

  test('that are refundable are refunded when a handset was not reached, and stay reserved until then', async () => {
    await runOperatorCommand(
      program,
      'price',
      'set',
      '--channel',
      'SMS',
      '--prefix',
      '351',
      '--price',
      '0.05',
      '--refund-undelivered',
    );
    const { client } = await payer(100_000);
    const lost = await until('the new price', async () => {
      const { messageId } = await client.send({ phoneNumber: '+351912349901', message: 'Hello' });
      return messageId !== null && (await client.status(messageId)).price === 0.05 && messageId;
    });
    await client.untilStatus(lost, 'UNDELIVERABLE');
    expect((await timelineOf(client, lost)).at(-1)).toMatchObject({ kind: 'CREDIT', text: 'returned' });
    const before = await creditOf(client);
    const { messageId } = await client.send({ phoneNumber: '+351912349907', message: 'Hello' });
    await until('a carrier took it', async () =>
      (await timelineOf(client, messageId)).some(({ kind }) => kind === 'ATTEMPT'),
    );
    expect(await creditOf(client)).not.toEqual(before);
    expect((await creditOf(client))[1]).toMatchObject({ frozenCredit: 0.05 });
  });
});

test("simulation costs nothing, and another account's traffic does not affect the credit", async () => {
  const [mine, others] = [await payer(70_000), await payer(0)];
  await mine.client.bulk(bulk(numbers(2)));
  expect(await creditOf(others.client)).toEqual(credits(0, 0));
  const simulated = await others.client.bulk({ ...bulk(numbers(3)), simulation: true });
  expect(simulated.accepted).toBe(3);
  expect((await others.client.bulk(bulk(numbers(1)))).accepted).toBe(0);
  await until(
    'mine are settled',
    async () => (await readBooks(program.pool, mine.account.accountId)).earned === 70_000,
  );
  expect(await creditOf(others.client)).toEqual(credits(0, 0));
});

describe('the wholesale API', () => {
  test('repeats the first response for a repeated globalId, and reports a conflict in its own error form', async () => {
    const { account, client } = await payer(1_000_000);
    const body = { globalId: 'night-1', ...bulk([...numbers(2), 'no number']) };
    const first = await client.bulk(body);
    expect(first).toMatchObject({ globalId: 'night-1', accepted: 2 });
    expect(await client.bulk(body)).toEqual(first);
    const other = await client.request('POST', '/services/sms/send', { body: { ...body, ...bulk(numbers(3)) } });
    expect([other.status, other.body]).toEqual([
      409,
      {
        status: 'error',
        message: 'This globalId was used for another body within 24 hours',
        code: 409,
        requestId: expect.any(String),
      },
    ]);
    await until('both are settled', async () => (await readBooks(program.pool, account.accountId)).earned === 70_000);
  });

  test('reports what is wrong with a whole request in its own error form', async () => {
    const { client } = await payer(0);
    const many = Array.from({ length: 10_001 }, () => '+393331230001');
    const answers = await Promise.all([
      client.request('POST', '/services/sms/send', { body: '{' }),
      client.request('POST', '/services/sms/send', { body: {} }),
      client.request('POST', '/services/sms/send', { body: {}, headers: { 'x-api-key': 'wrong' } }),
      client.request('POST', '/services/sms/send', { body: bulk(many) }),
      client.request('POST', '/services/sms/send', { body: 'x', headers: { 'content-type': 'text/plain' } }),
      client.request('GET', '/services/sms/credit', { headers: { 'x-api-key': 'wrong' } }),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 401, 413, 415, 401]);
    for (const { status, body } of answers)
      expect(body).toEqual({
        status: 'error',
        message: expect.any(String),
        code: status,
        requestId: expect.any(String),
      });
  });
});

test("another account's timeline gets the same response as an unknown one", async () => {
  const { client } = await payer(1_000_000);
  const otherClient = (await payer(0)).client;
  const { messageId } = await client.send({
    phoneNumber: '+393331230001',
    message: 'Hello',
    customerMessageId: 'mine',
  });
  const ask = async (id: string | null) => {
    const { status, body } = await otherClient.request('GET', `/api/partner-gateway/v1/messages/${id}/timeline`);
    return { status, body: JSON.stringify(body).replace(/"requestId":"[^"]+"/, '') };
  };
  const unknown = await ask('01900000-0000-7000-8000-000000000000');
  expect(unknown.status).toBe(404);
  expect([await ask(messageId), await ask('mine')]).toEqual([unknown, unknown]);
  expect((await timelineOf(client, 'mine'))[0]).toMatchObject({ kind: 'ACCEPTED' });
});
