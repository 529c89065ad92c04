import { afterAll, beforeAll, expect, test } from 'vitest';
import { newKey } from '../../test/support/http/routes.ts';
import { readBooks } from '../../test/support/money.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { exec, many, one, sql } from '../core/db/query.ts';
import { createAccount } from '../operate/account-commands.ts';

const PATH = '/api/partner-gateway/v1/messages/scheduled';
const SEND = '/api/message-server/sms/send';
const BULK = '/services/sms/send';

let program: TestProgram;
beforeAll(async () => {
  // Without a worker: what is accepted waits.
  program = await startTestProgram({ carriers: { main: {} }, roles: { worker: false } });
});
afterAll(() => program[Symbol.asyncDispose]());

const inHours = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString();
const spec = (iso: string): string => iso.replace('T', ' ').replace('Z', '+0000');

type Body = Readonly<Record<string, unknown>>;
async function ask(method: string, path: string, body?: object, apiKey = program.account.apiKey) {
  const answer = await program.clientOf(apiKey).request(method, path, body && { body });
  return { status: answer.status, body: (answer.body ?? {}) as Body };
}
async function schedule(scheduledDate: string, more: object = {}, apiKey?: string): Promise<string> {
  const body = { destination: '+393331234567', sender: 'Acme', body: 'Later', scheduledDate, ...more };
  return String((await ask('POST', SEND, body, apiKey)).body['messageId']);
}
const listed = async (query = '', apiKey?: string): Promise<unknown[]> =>
  ((await ask('GET', `${PATH}${query}`, undefined, apiKey)).body['data'] as { messageId: string }[]).map(
    ({ messageId }) => messageId,
  );
const newAccount = () =>
  createAccount(program.pool, { name: 'Other', plan: 'production', creditMicros: 1_000_000_000 });

test('scheduled messages are listed next first, in pages, and read one by one', async () => {
  const { apiKey } = await newAccount();
  const [late, early] = [inHours(5), inHours(3)];
  const [second, first] = [
    await schedule(late, { customerMessageId: 'mine' }, apiKey),
    await schedule(early, {}, apiKey),
  ];
  await ask('POST', SEND, { phoneNumber: '+393331234567', message: 'Now' }, apiKey);
  expect(await listed('', apiKey)).toEqual([first, second]);
  expect(await ask('GET', `${PATH}?limit=1&page=1`, undefined, apiKey)).toMatchObject({
    body: { total: 2, data: [{ messageId: second }] },
  });
  expect(await listed('?channel=RCS', apiKey)).toEqual([]);
  expect((await ask('GET', `${PATH}/${second}`, undefined, apiKey)).body).toMatchObject({
    messageId: second,
    customerMessageId: 'mine',
    channel: 'SMS',
    destination: '+393331234567',
    text: 'Later',
    scheduledDate: spec(late),
    price: expect.any(Number),
  });
});

test('its status says that it is scheduled, and for when', async () => {
  const at = inHours(7);
  const { body } = await ask('GET', `/api/partner-gateway/v1/messages/status/${await schedule(at)}`);
  expect(body).toMatchObject({ deliveryStatus: 'ACCEPTED', stage: 'SCHEDULED', sendDate: at, scheduledDate: spec(at) });
});

test('a message of a bulk request moves alone, with its validity, its deadline and its turn in the queue', async () => {
  const { accountId, apiKey } = await newAccount();
  const message = {
    destinations: ['+393331234561', '+393331234562'],
    sender: 'Acme',
    body: 'Bulk',
    validityPeriod: 60,
  };
  const bulk = await ask('POST', BULK, { messages: [{ ...message, scheduling: inHours(4) }] }, apiKey);
  const [id, other] = (bulk.body['results'] as { id: string }[]).map((result) => result.id);
  const to = inHours(2);
  const changed = await ask('PATCH', `${PATH}/${id}`, { scheduledDate: to }, apiKey);
  expect([changed.status, changed.body['scheduledDate']]).toEqual([200, spec(to)]);
  expect(await listed('', apiKey)).toEqual([id, other]);
  const chunks = await many<{ ids: string[]; withdrawn: string[] | null }>(
    program.pool,
    sql`SELECT ids::text[], withdrawn::text[] FROM dispatch_chunk WHERE account_id = ${accountId} ORDER BY available_at`,
  );
  expect(chunks).toEqual([
    { ids: [id], withdrawn: null },
    { ids: [id, other], withdrawn: [id] },
  ]);
  const stored = await one<{ validUntil: Date }>(
    program.pool,
    sql`SELECT valid_until AS "validUntil" FROM message WHERE account_id = ${accountId} AND id = ${id}`,
  );
  expect(stored.validUntil.toISOString()).toBe(new Date(Date.parse(to) + 3_600_000).toISOString());
  const deadlines = await many<{ ids: string[] }>(
    program.pool,
    sql`SELECT ids::text[] FROM message_deadline WHERE account_id = ${accountId} ORDER BY due_at`,
  );
  expect(deadlines).toEqual([{ ids: [id] }, { ids: [other] }]);
  const [entry] = await many(
    program.pool,
    sql`SELECT action, subject FROM audit_entry WHERE account_id = ${accountId} ORDER BY id DESC LIMIT 1`,
  );
  expect(entry).toEqual({ action: 'message.reschedule', subject: `message:${id}` });
});

test('a cancelled message ends DELETED and its credit returns; a second cancellation is 404', async () => {
  const { accountId, apiKey } = await newAccount();
  const before = await readBooks(program.pool, accountId);
  const id = await schedule(inHours(2), {}, apiKey);
  expect(await readBooks(program.pool, accountId)).not.toEqual(before);
  await ask('PATCH', `${PATH}/${id}`, { scheduledDate: inHours(3) }, apiKey);
  expect((await ask('DELETE', `${PATH}/${id}`, undefined, apiKey)).status).toBe(204);
  expect(await readBooks(program.pool, accountId)).toMatchObject({ available: before.available, frozen: 0 });
  expect(await listed('', apiKey)).toEqual([]);
  const status = await ask('GET', `/api/partner-gateway/v1/messages/status/${id}`, undefined, apiKey);
  expect(status.body).toMatchObject({ deliveryStatus: 'DELETED', stage: 'FINAL' });
  expect(await many(program.pool, sql`SELECT FROM dispatch_chunk WHERE account_id = ${accountId}`)).toEqual([]);
  for (const method of ['GET', 'DELETE'])
    expect((await ask(method, `${PATH}/${id}`, undefined, apiKey)).status).toBe(404);
});

test('a message whose time has come is not scheduled any more', async () => {
  const { accountId, apiKey } = await newAccount();
  const id = await schedule(inHours(2), {}, apiKey);
  await exec(program.pool, sql`UPDATE dispatch_chunk SET available_at = now() WHERE account_id = ${accountId}`);
  expect(await listed('', apiKey)).toEqual([]);
  expect((await ask('PATCH', `${PATH}/${id}`, { scheduledDate: inHours(3) }, apiKey)).status).toBe(404);
});

test('another account sees and changes nothing, and a key needs the scope of the channel', async () => {
  const id = await schedule(inHours(2));
  const { apiKey } = await newAccount();
  const rcs = await newKey(program.pool, program.account, ['RCS']);
  for (const [method, body] of [['GET'], ['PATCH', { scheduledDate: inHours(3) }], ['DELETE']] as const) {
    expect((await ask(method, `${PATH}/${id}`, body, apiKey)).status).toBe(404);
    expect((await ask(method, `${PATH}/${id}`, body, rcs)).status).toBe(403);
  }
  expect(await listed('', apiKey)).toEqual([]);
  expect(await listed('', rcs)).toEqual([]);
  expect((await ask('GET', `${PATH}/nonsense`)).status).toBe(404);
});

test('a time beyond the limit is refused, in a send and in a change', async () => {
  const id = await schedule(inHours(2));
  const far = { scheduledDate: inHours(24 * 367) };
  const message = 'must be at most 366 days ahead';
  const body = { destination: '+393331234567', sender: 'Acme', body: 'Later', ...far };
  expect(await ask('POST', SEND, body)).toMatchObject({ status: 400, body: { details: [{ message }] } });
  expect(await ask('PATCH', `${PATH}/${id}`, far)).toMatchObject({
    status: 400,
    body: { details: [{ field: 'scheduledDate', message }] },
  });
  const past = await ask('PATCH', `${PATH}/${id}`, { scheduledDate: inHours(-1) });
  expect(past).toMatchObject({ status: 400, body: { details: [{ message: 'must lie in the future' }] } });
});
