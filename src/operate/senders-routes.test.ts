import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { connectGraph, connectRbm } from '../../test/support/networks.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { listAuditEntries } from '../accounts/audit.ts';

let program: TestProgram;
let operator: OperatorApi;
let networks: AsyncDisposableStack;
let number: string;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
  networks = new AsyncDisposableStack();
  const meta = await connectGraph(program);
  networks.defer(() => meta.graph.close());
  const google = await connectRbm(program);
  networks.defer(() => google.rbm.close());
  number = meta.number;
});
afterAll(async () => {
  await networks.disposeAsync();
  await program[Symbol.asyncDispose]();
});

type Sender = { id: number; identity: string | null; accountId: number | null };
const senders = async (query = ''): Promise<Sender[]> =>
  (await operator.ask<{ data: Sender[] }>('GET', `/senders?${query}`)).data;
const lastEntry = async (accountId: number) => {
  const all = { accountId, action: null, subject: null, fromId: null, toId: null };
  const [entry] = await listAuditEntries(program.pool, { ...all, limit: 1, offset: 0 });
  return entry;
};

test('senders are listed with their account and connection, and found by channel and name', async () => {
  const { accountId } = program.account;
  expect(await senders('channel=WHATSAPP')).toMatchObject([
    { identity: number, accountId, account: 'Acme', connection: 'meta', channel: 'WHATSAPP' },
  ]);
  expect(await senders('search=ACM')).toHaveLength(2);
  expect(await senders('search=nobody')).toEqual([]);
});

test('an agent is assigned to all accounts and to one account, and recorded in the log of its owner', async () => {
  const agent = { identity: 'acme', connection: 'google' };
  const given = await operator.ask('POST', '/senders', { ...agent, accountId: null, name: 'Common' });
  expect(given).toMatchObject({ identity: 'acme', accountId: null, account: null, name: 'Common' });
  expect(await lastEntry(0)).toMatchObject({ action: 'sender.assign', username: operator.username });
  expect(await operator.ask('POST', '/senders', { ...agent, accountId: operator.accountId })).toMatchObject({
    id: given['id'],
    accountId: operator.accountId,
    name: 'Common',
  });
  expect(await lastEntry(operator.accountId)).toMatchObject({ action: 'sender.assign', username: operator.username });
  expect(await operator.request('POST', '/senders', { ...agent, accountId: 999_999 })).toMatchObject({ status: 404 });
  expect(await operator.request('POST', '/senders', { ...agent, connection: 'main', accountId: null })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'connection' }] },
  });
});

test('a requested agent is listed first and can be registered; an id that is taken gets 409', async () => {
  const asked = await program.client.request('POST', '/api/message-server/rcs/agents', {
    body: { displayName: 'Acme shop' },
  });
  expect(asked.status).toBe(201);
  const [waiting] = await senders();
  expect(waiting).toMatchObject({ identity: null, connection: null, name: 'Acme shop' });
  const path = `/senders/${waiting?.id}`;
  expect((await operator.request('DELETE', path)).status).toBe(409);
  const taken = { identity: 'acme', connection: 'google' };
  expect((await operator.request('POST', `${path}/register`, taken)).status).toBe(409);
  expect((await operator.request('POST', `${path}/register`, { identity: 'x', connection: 'meta' })).status).toBe(400);
  expect(await operator.ask('POST', `${path}/register`, { identity: 'acme-shop', connection: 'google' })).toMatchObject(
    { identity: 'acme-shop', connection: 'google', accountId: program.account.accountId },
  );
  expect((await operator.request('DELETE', path)).status).toBe(204);
  expect((await senders('search=shop')).length).toBe(0);
});

test('a number is assigned to an account, which gets its messages, and removed', async () => {
  const given = { number: '4850', connection: 'main', accountId: program.account.accountId };
  expect(await operator.ask('POST', '/numbers', given)).toEqual(given);
  expect(await operator.ask('GET', '/numbers?connection=main')).toMatchObject({
    total: 1,
    data: [{ number: '4850', connection: 'main', account: 'Acme' }],
  });
  await until('a bind', () => Promise.resolve(program.smsc.sessions().some(({ mode }) => mode !== null)));
  await program.smsc.injectMo({ source: '393331234567', destination: '4850', text: 'Hello' });
  await until('the conversation', async () => {
    const { body } = await program.client.request('GET', '/api/partner-gateway/v1/inbox/conversations');
    return JSON.stringify(body).includes('393331234567');
  });
  expect((await operator.request('POST', '/numbers', { ...given, number: 'ACME' })).status).toBe(400);
  expect((await operator.request('DELETE', '/numbers?number=4850&connection=main')).status).toBe(204);
  expect((await operator.request('DELETE', '/numbers?number=4850&connection=main')).status).toBe(404);
});

test('templates of all accounts are listed once their network was asked', async () => {
  const body = {
    phoneNumberId: number,
    name: 'order_update',
    language: 'en',
    category: 'UTILITY',
    components: [{ type: 'BODY', text: 'Hello' }],
  };
  expect((await program.client.request('POST', '/api/message-server/whatsapp/templates', { body })).status).toBe(201);
  expect(await operator.ask('POST', '/connections/meta/templates/sync')).toMatchObject({ ok: true });
  expect(await operator.ask('GET', '/templates?search=ORDER&channel=WHATSAPP')).toMatchObject({
    total: 1,
    data: [{ name: 'order_update', connection: 'meta', account: 'Acme', language: 'en' }],
  });
  expect(await operator.ask('GET', '/templates?status=GONE')).toMatchObject({ total: 0 });
});
