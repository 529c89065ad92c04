import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { listAuditEntries } from '../accounts/audit.ts';
import { exec, sql } from '../core/db/query.ts';

let program: TestProgram;
let operator: OperatorApi;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
});
afterAll(() => program[Symbol.asyncDispose]());

type Made = { accountId: number; apiKey: string; username: string; password: string };
const make = (body: object): Promise<Made> => operator.ask('POST', '/accounts', body);
const auditOf = async (accountId: number) =>
  (
    await listAuditEntries(program.pool, {
      accountId,
      action: null,
      subject: null,
      fromId: null,
      toId: null,
      limit: 50,
      offset: 0,
    })
  ).map(({ actorKind, username, action }) => ({ actorKind, username, action }));

test('a new account has credentials that work at once, and its audit log names the operator', async () => {
  const made = await make({ name: '  Initech ', credit: 12.5, channels: ['SMS'], ratePerMinute: 600 });
  const client = program.clientOf(made.apiKey);
  expect(await client.request('GET', '/api/partner-gateway/v1/subscription')).toMatchObject({
    status: 200,
    body: { plan: 'production', channels: ['SMS'], credit: { availableCredit: 12.5 } },
  });
  expect(await operator.ask('GET', `/accounts/${made.accountId}`)).toMatchObject({
    name: 'Initech',
    status: 'active',
    ratePerMinute: 600,
    availableCredit: 12.5,
    frozenCredit: 0,
    users: 1,
    people: [{ username: made.username, role: 'admin', isOperator: false }],
    apiKeys: 1,
    webhook: null,
    ledgerAgrees: true,
  });
  const log = await auditOf(made.accountId);
  expect(log.map(({ action }) => action)).toEqual(['account.channels', 'api-key.create', 'account.create']);
  expect(log.every(({ actorKind, username }) => actorKind === 'operator' && username === operator.username)).toBe(true);
});

test('the same Idempotency-Key creates one account, and returns its credentials again', async () => {
  const headers = { 'idempotency-key': 'new-account-1' };
  const [first, second] = [
    await operator.request('POST', '/accounts', { name: 'Twice' }, headers),
    await operator.request('POST', '/accounts', { name: 'Twice' }, headers),
  ];
  expect(second).toMatchObject({ status: 201, body: first.body });
  expect(second.headers.get('idempotency-replayed')).toBe('true');
  expect(await operator.ask('GET', '/accounts?search=twice')).toMatchObject({ total: 1 });
});

test('accounts are found by name, id, status and plan, and sorted', async () => {
  const [a, b] = [await make({ name: 'Zebra 100%' }), await make({ name: 'zebra 200', plan: 'trial', credit: 3 })];
  const names = async (query: string): Promise<string[]> =>
    (await operator.ask<{ data: { name: string }[] }>('GET', `/accounts?${query}`)).data.map(({ name }) => name);
  expect(await names('search=zEBRA&sort=name&direction=desc')).toEqual(['zebra 200', 'Zebra 100%']);
  expect(await names('search=100%25')).toEqual(['Zebra 100%']);
  expect(await names(`search=${b.accountId}`)).toEqual(['zebra 200']);
  expect(await names('search=zebra&plan=trial')).toEqual(['zebra 200']);
  await operator.ask('PUT', `/accounts/${a.accountId}`, { status: 'suspended' });
  expect(await names('search=zebra&status=suspended')).toEqual(['Zebra 100%']);
  expect(await names('search=zebra&sort=availableCredit&direction=desc')).toEqual(['zebra 200', 'Zebra 100%']);
  expect(await operator.ask('GET', '/accounts?search=zebra&limit=1&page=1&sort=name')).toMatchObject({
    page: 1,
    limit: 1,
    total: 2,
    data: [{ name: 'zebra 200' }],
  });
});

test('a suspended account is refused from its next request on, and accepted again when it is resumed', async () => {
  const { accountId, apiKey } = await make({ name: 'Hooli' });
  const status = async (): Promise<number> =>
    (await program.clientOf(apiKey).request('GET', '/api/partner-gateway/v1/subscription')).status;
  expect(await status()).toBe(200);
  await operator.ask('PUT', `/accounts/${accountId}`, { status: 'suspended' });
  expect(await status()).toBe(403);
  await operator.ask('PUT', `/accounts/${accountId}`, { status: 'active' });
  expect(await status()).toBe(200);
  expect((await auditOf(accountId)).slice(0, 2).map(({ action }) => action)).toEqual([
    'account.resume',
    'account.suspend',
  ]);
});

test('operators cannot suspend their own account', async () => {
  const path = `/accounts/${operator.accountId}`;
  expect(await operator.request('PUT', path, { status: 'suspended', name: 'Away' })).toMatchObject({ status: 409 });
  expect(await operator.ask('GET', path)).toMatchObject({ status: 'active', name: 'Gateway' });
});

test('a change affects only the fields that it names, and null restores the value of the plan', async () => {
  const { accountId } = await make({ name: 'Vandelay' });
  const put = (body: object) => operator.ask('PUT', `/accounts/${accountId}`, body);
  const limits = { planLimit: 500, extraLimit: 20 };
  const changed = await put({
    name: 'Vandelay Ltd',
    plan: 'trial',
    channels: ['RCS', 'SMS'],
    ratePerMinute: 60,
    ratePerSecond: 3,
    contactLimits: limits,
    defaultCountry: 'it',
    numberChecks: 'lenient',
  });
  expect(changed).toMatchObject({
    name: 'Vandelay Ltd',
    plan: 'trial',
    channels: ['SMS', 'RCS'],
    ratePerMinute: 60,
    ratePerSecond: 3,
    contactLimits: { ...limits, totalLimit: 520 },
    defaultCountry: 'IT',
    numberChecks: 'lenient',
  });
  expect(await put({ contactLimits: { planLimit: null }, ratePerMinute: null })).toMatchObject({
    contactLimits: { planLimit: null, extraLimit: 20 },
    ratePerMinute: null,
    ratePerSecond: null,
    name: 'Vandelay Ltd',
    defaultCountry: 'IT',
  });
});

test('an operator can let in an admin whom the allow-list has locked out', async () => {
  const { accountId } = await make({ name: 'Locked' });
  await exec(
    program.pool,
    sql`UPDATE account SET ip_allow_list = '{203.0.113.0/24}', ip_allow_list_enforced = true WHERE id = ${accountId}`,
  );
  const path = `/accounts/${accountId}`;
  expect(await operator.ask('GET', path)).toMatchObject({ ipAllowList: ['203.0.113.0/24'], allowListEnforced: true });
  expect(await operator.ask('PUT', path, { allowListEnforced: false })).toMatchObject({
    ipAllowList: [],
    allowListEnforced: false,
  });
});

test('credit is added once per Idempotency-Key, recorded in the ledger, and the books agree', async () => {
  const { accountId } = await make({ name: 'Pied Piper' });
  const path = `/accounts/${accountId}/credit`;
  const [first, again] = [
    await operator.request(
      'POST',
      path,
      { amount: 250.25, reference: 'invoice 7' },
      { 'idempotency-key': 'invoice-7' },
    ),
    await operator.request(
      'POST',
      path,
      { amount: 250.25, reference: 'invoice 7' },
      { 'idempotency-key': 'invoice-7' },
    ),
  ];
  expect(first).toMatchObject({ status: 201, body: { availableCredit: 250.25, currency: 'EUR' } });
  expect(again.body).toEqual(first.body);
  expect(await operator.ask('GET', `/accounts/${accountId}/ledger?kind=topup`)).toMatchObject({
    total: 1,
    data: [{ kind: 'topup', from: 'outside', to: 'available', amount: 250.25, reference: 'invoice 7' }],
  });
  expect(await operator.ask('GET', `/accounts/${accountId}/ledger?kind=settle`)).toMatchObject({ total: 0 });
  expect(await operator.ask('GET', `/accounts/${accountId}`)).toMatchObject({ ledgerAgrees: true });
});

test('an account that owes credit cannot change to a prepaid plan until it has paid', async () => {
  const { accountId } = await make({ name: 'Owing', plan: 'unlimited' });
  await exec(program.pool, sql`UPDATE credit_balance SET available_micros = -5000000 WHERE account_id = ${accountId}`);
  const path = `/accounts/${accountId}`;
  expect(await operator.request('PUT', path, { plan: 'production' })).toMatchObject({ status: 409 });
  expect(await operator.ask('GET', path)).toMatchObject({ plan: 'unlimited', unlimited: true, availableCredit: -5 });
  await operator.ask('POST', `${path}/credit`, { amount: 6 });
  expect(await operator.ask('PUT', path, { plan: 'production' })).toMatchObject({
    plan: 'production',
    unlimited: false,
    availableCredit: 1,
  });
});

test('an account is listed with its traffic of the last day', async () => {
  const { messageId } = await program.client.send({ phoneNumber: '+393331234567', message: 'Hello' });
  await program.client.untilStatus(messageId ?? '', 'DELIVERED');
  expect(await operator.ask('GET', `/accounts/${program.account.accountId}`)).toMatchObject({
    last24h: { sent: 1, delivered: 1, failed: 0 },
  });
});

test('a disabled webhook is enabled again, and an active one gets 409', async () => {
  const { accountId, apiKey } = await make({ name: 'Hooked' });
  const path = `/accounts/${accountId}`;
  expect((await operator.request('POST', `${path}/webhook/enable`)).status).toBe(404);
  const url = 'https://93.184.216.34/hook?token=secret';
  const registered = await program
    .clientOf(apiKey)
    .request('POST', '/api/partner-gateway/v1/webhooks/delivery-status', { body: { callbackUrl: url } });
  expect(registered.status).toBeLessThan(300);
  await exec(
    program.pool,
    sql`UPDATE webhook_endpoint SET status = 'disabled', disabled_reason = 'gone' WHERE account_id = ${accountId}`,
  );
  expect(await operator.ask('GET', path)).toMatchObject({
    webhook: { url: 'https://93.184.216.34/hook?…', status: 'disabled', disabledReason: 'gone', pending: 0, dead: 0 },
  });
  expect((await operator.request('POST', `${path}/webhook/enable`)).status).toBe(204);
  expect(await operator.ask('GET', path)).toMatchObject({ webhook: { status: 'active' } });
  expect((await operator.request('POST', `${path}/webhook/enable`)).status).toBe(409);
});
