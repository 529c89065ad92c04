import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram({ carriers: { main: {}, other: { prefix: '44' } } });
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Route = { id: number; prefix: string; connection: string; order: number; priority: number };
const add = (body: object): Promise<Route> => operator.ask('POST', '/routes', { channel: 'SMS', ...body });
const check = async (number: string): Promise<string[]> =>
  (await operator.ask<{ data: Route[] }>('GET', `/routes/check?number=${number}`)).data.map((r) => r.connection);

test('a route is added, changed by adding it again, listed in order, and deleted', async () => {
  const first = await add({ prefix: '33', connection: 'main' });
  expect(first).toMatchObject({ prefix: '33', connection: 'main', priority: 100, order: 1, onUnknown: 'hold' });
  await add({ prefix: '33', connection: 'other', priority: 50, onUnknown: 'resubmit' });
  expect(await check('%2B33612345678')).toEqual(['other', 'main']);
  expect(await add({ prefix: '33', connection: 'main', priority: 10 })).toMatchObject({ id: first.id, order: 1 });
  expect(await check('+33612345678')).toEqual(['main', 'other']);
  expect(await operator.ask('GET', '/routes?connection=other')).toMatchObject({
    total: 2,
    data: [{ prefix: '33', order: 2, onUnknown: 'resubmit' }, { prefix: '44' }],
  });
  expect((await operator.request('DELETE', `/routes/${first.id}`)).status).toBe(204);
  expect(await operator.ask('GET', '/audit?action=route.remove')).toMatchObject({
    total: 1,
    data: [
      {
        subject: `route:${first.id}`,
        detail: { channel: 'SMS', prefix: '33', connection: 'main', priority: 10, onUnknown: 'hold' },
      },
    ],
  });
  expect(await check('33612345678')).toEqual(['other']);
  expect(await check('447700900000')).toEqual(['other']);
  expect(await check('15551234567')).toEqual(['main']);
});

test('messages follow a new route at once, and the audit log of the gateway names who added it', async () => {
  await add({ prefix: '39366', connection: 'other' });
  await until('a message over the other carrier', async () => {
    const { messageId } = await program.client.send({ phoneNumber: '+393661234567', message: 'Hello' });
    await program.client.untilStatus(messageId ?? '', 'DELIVERED');
    return program.carrier('other').ledger.counts().submits > 0;
  });
  expect(await operator.ask('GET', '/audit?action=route.add&limit=1')).toMatchObject({
    data: [{ actor: { kind: 'operator', username: operator.username }, detail: { prefix: '39366' } }],
  });
});

test('a route with conditions is added and explained, with the account for which it is', async () => {
  await add({ prefix: '48', connection: 'main' });
  const only = { accountId: 7, sender: 'ACME', weight: 20 };
  const made = await add({ prefix: '48', connection: 'other', ...only });
  expect(made).toMatchObject({ ...only, network: null, hours: null, order: 1 });
  const explain = (query: string) =>
    operator.ask<{ prefix: string; reason: string; data: object[] }>(
      'GET',
      `/routes/explain?number=%2B48601234567${query}`,
    );
  expect(await explain('&accountId=7&sender=acme')).toMatchObject({
    prefix: '48',
    policyId: null,
    reason: `route ${made.id}: prefix 48, account 7, sender ACME`,
    data: [
      { connection: 'other', place: 1, obstacles: [], cost: null, samples: 0, delivered: null },
      { connection: 'main', place: 2 },
      { connection: 'main', prefix: '', place: null, obstacles: ['prefix'] },
    ],
  });
  expect(await explain('')).toMatchObject({
    data: [{ connection: 'main', place: 1 }, { connection: 'other', obstacles: ['account', 'sender'] }, {}],
  });
});

test('a condition that is not valid is refused, naming its field', async () => {
  const hours = { from: '08:00', to: '20:00', timeZone: 'Rome', weekdays: [1] };
  const refused = await operator.request('POST', '/routes', {
    channel: 'SMS',
    prefix: '48',
    connection: 'main',
    hours,
  });
  expect(refused.status).toBe(400);
  expect(JSON.stringify(refused.body)).toContain('Rome is not a time zone');
});

/** Finds the timeline entry with the queue in which a message to this sender's numbers waits. */
async function queuedEntry(message: object): Promise<{ connection: string; text: string } | undefined> {
  const { messageId } = await program.client.send({ phoneNumber: '+393611234567', message: 'Hello', ...message });
  const { body } = await program.client.request('GET', `/api/partner-gateway/v1/messages/${messageId}/timeline`);
  const { events } = body as { events: { kind: string; connection: string; text: string }[] };
  return events.find(({ kind }) => kind === 'QUEUED');
}

test('a message says in its timeline which route it took, where more than the prefix decided', async () => {
  const { id } = await add({ prefix: '393611234567', connection: 'other', sender: 'ACME' });
  await until('a message by the new route', async () => {
    const queued = await queuedEntry({ sender: 'ACME' });
    const text = `waiting in the queue; route ${id}: prefix 393611234567, sender ACME`;
    return queued?.connection === 'other' && queued.text === text;
  });
  expect(await queuedEntry({ sender: 'ZETA' })).toMatchObject({ connection: 'main', text: 'waiting in the queue' });
});

test('a policy by cost is set, listed and deleted, and an explanation names it', async () => {
  const set = { channel: 'SMS', prefix: '47', policy: 'least-cost', floor: 0.9 };
  const policy = await operator.ask<{ id: number }>('POST', '/route-policies', set);
  expect(policy).toMatchObject({ ...set, explore: 0.05, minSamples: 50, hours: 3, maxReceiptSeconds: null });
  expect(await operator.ask('GET', '/route-policies')).toMatchObject({ data: [{ id: policy.id }] });
  await add({ prefix: '47', connection: 'main' });
  expect(await operator.ask('GET', '/routes/explain?number=4790000000')).toMatchObject({
    policyId: policy.id,
    data: [{ standing: 'trial' }, { obstacles: ['prefix'], standing: null }],
  });
  expect((await operator.request('DELETE', `/route-policies/${policy.id}`)).status).toBe(204);
  expect((await operator.request('DELETE', `/route-policies/${policy.id}`)).status).toBe(404);
});

test('a look-up service is added, listed without its key, and deleted', async () => {
  const service = { name: 'hlr', settings: { preset: 'telnyx', price: 0.01 }, apiKey: 'a secret key' };
  await operator.ask('POST', '/lookups', service);
  const listed = await operator.ask('GET', '/lookups');
  expect(listed).toMatchObject({ data: [{ name: 'hlr', settings: { preset: 'telnyx' }, answered: 0, cost: 0 }] });
  expect(JSON.stringify(listed)).not.toContain('secret');
  const refused = await operator.request('POST', '/lookups', { ...service, name: 'two', settings: { preset: 'none' } });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('settings.preset')]);
  expect(listed).toMatchObject({ presets: expect.arrayContaining(['telnyx']) });
  expect((await operator.request('DELETE', '/lookups/hlr')).status).toBe(204);
});

test('a look-up service is tried with a number, and says why it fails', async () => {
  const settings = { preset: 'telnyx', baseUrl: 'http://127.0.0.1:1' };
  await operator.ask('POST', '/lookups', { name: 'dead', settings, apiKey: 'a secret key' });
  const tried = await operator.ask('POST', '/lookups/dead/test', { phoneNumber: '+393331234567' });
  expect(tried).toMatchObject({ ok: false, network: null, reason: expect.stringMatching(/./) });
  const bad = await operator.request('POST', '/lookups/dead/test', { phoneNumber: '333' });
  expect(bad).toMatchObject({ status: 400, body: { details: [{ field: 'phoneNumber' }] } });
  const unknown = await operator.request('POST', '/lookups/none/test', { phoneNumber: '+393331234567' });
  expect(unknown.status).toBe(404);
  await operator.request('DELETE', '/lookups/dead');
});
