import { generateKeyPairSync } from 'node:crypto';
import net from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type OperatorApi, openOperatorApi } from '../../test/support/http/operator-api.ts';
import { connectGraph } from '../../test/support/networks.ts';
import { startCarrier, startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { until } from '../../test/support/until.ts';
import { findConnection, insertNotices } from '../routing/connection-store.ts';
import { CONNECTION_KINDS } from '../routing/kinds.ts';
import { startSandboxGraph } from '../sandbox/graph-server.ts';
import type { SandboxSmsc } from '../sandbox/smsc.ts';

/** SMPP has room for eight characters. */
const PASSWORD = 'n0w-here';

let program: TestProgram;
let operator: OperatorApi;
let smsc: SandboxSmsc;
beforeAll(async () => {
  program = await startTestProgram();
  operator = await openOperatorApi(program);
  smsc = await startCarrier('acme', { script: { password: PASSWORD } });
});
afterAll(async () => {
  await smsc.close();
  await program[Symbol.asyncDispose]();
});

const smpp = (more: object = {}) => ({ host: '127.0.0.1', port: smsc.port, systemId: 'acme', ...more });
const linkOf = (settings: object = {}, password = PASSWORD) => ({
  kind: 'smpp',
  settings: smpp(settings),
  secret: { password },
});

type Listed = { kind: string; settings: { name: string }[]; secret: { name: string; generated: boolean }[] };
type Step = { name: string; ok: boolean | null; detail: string };
type Tried = { ok: boolean; detail: string; steps: Step[] };
const okOf = ({ steps }: Tried) => Object.fromEntries(steps.map(({ name, ok }) => [name, ok]));
const tryUnsaved = (body: object): Promise<Tried> => operator.ask('POST', '/connections/test', body);
const untilUp = (name: string) =>
  until(`${name} up`, async () => {
    const row = await operator.ask('GET', `/connections/${name}`);
    return row['up'] === true && row;
  });

test('the kinds are listed with their settings, for forms', async () => {
  const { data } = await operator.ask<{ data: Listed[] }>('GET', '/connection-kinds');
  expect(data.map(({ kind }) => kind)).toEqual(CONNECTION_KINDS);
  const sms = data.find(({ kind }) => kind === 'smpp');
  const whatsapp = data.find(({ kind }) => kind === 'whatsapp');
  expect(sms).toMatchObject({ channel: 'SMS', routedBy: 'prefix', hasCallbacks: false, syncsTemplates: false });
  expect(sms?.settings[0]).toEqual({
    name: 'host',
    type: 'text',
    group: 'access',
    description: 'Host name or IP address of the carrier.',
    required: true,
    default: null,
    options: [],
    minimum: null,
    maximum: null,
    maxLength: 253,
  });
  expect(sms?.settings).toContainEqual(expect.objectContaining({ name: 'port', default: 2775, maximum: 65_535 }));
  expect(sms?.settings).toContainEqual(expect.objectContaining({ name: 'interfaceVersion', options: [51, 52, 80] }));
  expect(whatsapp).toMatchObject({ routedBy: 'sender', hasCallbacks: true, syncsTemplates: true });
  expect(whatsapp?.settings).toContainEqual(expect.objectContaining({ default: ['lookaside.fbsbx.com'] }));
  expect(whatsapp?.secret.filter(({ generated }) => generated)).toMatchObject([{ name: 'verifyToken', type: 'text' }]);
});

test('settings that are not stored yet are tried with a real bind', async () => {
  const tried = await tryUnsaved(linkOf());
  expect(tried).toMatchObject({ ok: true });
  expect(okOf(tried)).toEqual({ resolve: true, connect: true, bind: true });
  expect(await operator.ask('GET', '/connections')).toMatchObject({ total: 1 });
});

test('a wrong password is reported in the words of the carrier', async () => {
  const tried = await tryUnsaved(linkOf({}, 'wrong'));
  expect(okOf(tried)).toEqual({ resolve: true, connect: true, bind: false });
  expect(tried).toMatchObject({ ok: false, detail: expect.stringContaining('ESME_RINVPASWD') });
  expect(JSON.stringify(tried)).not.toContain('wrong');
});

test('a closed port fails at the connection, an unknown name before it', async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as net.AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  const refused = await tryUnsaved(linkOf({ port }));
  expect(okOf(refused)).toEqual({ resolve: true, connect: false, bind: null });
  expect(refused.detail).toContain('ECONNREFUSED');
  expect(okOf(await tryUnsaved(linkOf({ host: 'no-such-host.invalid' })))).toEqual({
    resolve: false,
    connect: null,
    bind: null,
  });
});

test('wrong settings are named, every one of them, and nothing is tried or stored', async () => {
  const wrong = { settings: { port: 0, windows: 5, alphaAddress: { ton: 999 } }, secret: {} };
  const fields = ['settings.alphaAddress.ton', 'settings.host', 'settings.port', 'settings.systemId'];
  for (const [path, body] of [
    ['/connections/test', { kind: 'smpp', ...wrong }],
    ['/connections', { name: 'wrong', kind: 'smpp', ...wrong }],
  ] as const) {
    const { status, body: answer } = await operator.request('POST', path, body);
    expect(status).toBe(400);
    const { details } = answer as { details: { field: string }[] };
    expect(details.map(({ field }) => field).toSorted()).toEqual(
      [...fields, 'settings.windows', 'secret.password'].toSorted(),
    );
  }
  expect((await operator.request('GET', '/connections/wrong')).status).toBe(404);
});

test('an added connection comes up, takes messages, and is seen at work; its secret is never shown', async () => {
  const made = await operator.ask('POST', '/connections', {
    name: 'acme',
    ...linkOf({ window: 5, binds: 2, tps: 40 }),
  });
  expect(made).toMatchObject({
    name: 'acme',
    kind: 'smpp',
    channel: 'SMS',
    status: 'active',
    callbackUrl: null,
    tokens: {},
  });
  expect(await untilUp('acme')).toMatchObject({ window: 10, rateLimit: 40, fault: null, downSince: null });
  await operator.ask('POST', '/routes', { channel: 'SMS', prefix: '39368', connection: 'acme' });
  await until('a message over it', async () => {
    const { messageId } = await program.client.send({ phoneNumber: '+393681234567', message: 'Hello' });
    await program.client.untilStatus(messageId ?? '', 'DELIVERED');
    return smsc.ledger.counts().submits > 0;
  });
  const seen = await until('its figures', async () => {
    const row = await operator.ask<{ lastHour: { accepted: number } }>('GET', '/connections/acme');
    return row.lastHour.accepted > 0 && row;
  });
  expect(seen).toMatchObject({ up: true, routes: 1, workers: 1, lastHour: { refused: 0, unknown: 0 } });
  const { data } = await operator.ask<{ data: { accepted: number }[] }>('GET', '/connections/acme/minutes');
  expect(data).toHaveLength(60);
  expect(data.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(seen.lastHour.accepted);
  expect(JSON.stringify([made, seen])).not.toContain(PASSWORD);
});

test('what the network has reported is shown with the connection, the newest first', async () => {
  const connection = await findConnection(program.pool, { name: 'acme' });
  const insert = (subject: string, serious: boolean) =>
    insertNotices(program.pool, { connectionId: connection?.id ?? 0, notices: [{ subject, text: subject, serious }] });
  await insert('account', true);
  await insert('number', false);
  const at = expect.stringMatching(/Z$/);
  expect(await operator.ask('GET', '/connections/acme')).toMatchObject({
    notices: [
      { text: 'number', serious: false, at },
      { text: 'account', serious: true, at },
    ],
  });
});

test('what is stored is tried too, and is refused the same way after its password was changed', async () => {
  const tryStored = (): Promise<Tried> => operator.ask('POST', '/connections/acme/test');
  expect(await tryStored()).toMatchObject({ ok: true });
  await operator.ask('PUT', '/connections/acme', { secret: { password: 'other' } });
  expect(await tryStored()).toMatchObject({ ok: false, detail: expect.stringContaining('ESME_RINVPASWD') });
  const down = await until('its fault', async () => {
    const row = await operator.ask('GET', '/connections/acme');
    return row['fault'] !== null && row;
  });
  expect(down).toMatchObject({ up: false, fault: expect.stringContaining('ESME_RINVPASWD') });
  await operator.ask('PUT', '/connections/acme', { secret: { password: PASSWORD } });
  await untilUp('acme');
});

test('a change leaves the rest as it was, null puts a setting back, and the log keeps no secret', async () => {
  const changed = await operator.ask<{ settings: object }>('PUT', '/connections/acme', {
    settings: { window: 20, tps: null },
    secret: { password: PASSWORD },
  });
  expect(changed.settings).toMatchObject({ window: 20, tps: 0, binds: 2, systemId: 'acme' });
  const refused = await operator.request('PUT', '/connections/acme', { settings: { window: 0 }, status: 'paused' });
  expect(refused).toMatchObject({ status: 400, body: { details: [{ field: 'settings.window' }] } });
  expect(await operator.ask('GET', '/connections/acme')).toMatchObject({ status: 'active', settings: { window: 20 } });
  const log = await operator.ask('GET', '/audit?subject=connection:acme');
  expect(log).toMatchObject({
    data: [
      { action: 'connection.change', detail: { settings: { window: 20, tps: null }, secret: 'another one' } },
      {},
      {},
      {},
    ],
  });
  expect(JSON.stringify(log)).not.toContain(PASSWORD);
});

test('paused it takes nothing, resumed it comes up again', async () => {
  expect(await operator.ask('PUT', '/connections/acme', { status: 'paused' })).toMatchObject({ status: 'paused' });
  await until('its binds gone', () => Promise.resolve(smsc.sessions().length === 0));
  await operator.ask('PUT', '/connections/acme', { status: 'active' });
  await untilUp('acme');
});

test('why it cannot be reached is shown with its time, and no more once it is up again', async () => {
  smsc.refuseConnections();
  await smsc.dropConnections();
  const seen = await until('the refusal', async () => {
    const row = await operator.ask<{ lastError: string | null }>('GET', '/connections/acme');
    return row.lastError?.includes('ECONNREFUSED') && row;
  });
  expect(seen).toMatchObject({ up: false, fault: null, lastErrorAt: expect.stringMatching(/Z$/) });
  await smsc.acceptConnections();
  await untilUp('acme');
  await until('no error', async () => {
    const row = await operator.ask('GET', '/connections/acme');
    return row['lastError'] === null && row['lastErrorAt'] === null;
  });
});

test('it is removed once nothing leads to it', async () => {
  expect(await operator.request('DELETE', '/connections/acme')).toMatchObject({
    status: 409,
    body: { message: expect.stringContaining('Routes lead to connection acme') },
  });
  const { data } = await operator.ask<{ data: { id: number }[] }>('GET', '/routes?connection=acme');
  for (const { id } of data) await operator.ask('DELETE', `/routes/${id}`);
  expect((await operator.request('DELETE', '/connections/acme')).status).toBe(204);
  expect((await operator.request('GET', '/connections/acme')).status).toBe(404);
});

test('tokens that are ours to choose are made up and shown, with the address for callbacks', async () => {
  const settings = { wabaId: '500', phoneNumberIds: ['106'], baseUrl: 'http://127.0.0.1:1' };
  const whatsapp = await operator.ask('POST', '/connections', {
    name: 'unreached',
    kind: 'whatsapp',
    settings,
    secret: { accessToken: 'the-token', appSecret: 'the-secret' },
  });
  expect(whatsapp).toMatchObject({
    callbackUrl: expect.stringContaining('/api/callbacks/whatsapp/unreached'),
    tokens: { verifyToken: expect.stringMatching(/^[\w-]{32}$/) },
  });
  expect(JSON.stringify(whatsapp)).not.toMatch(/the-token|the-secret/);
  const pem = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
  const serviceAccount = { client_email: 'a@b.example', private_key: pem, private_key_id: '1' };
  const rcs = await operator.ask('POST', '/connections', {
    name: 'google',
    kind: 'rcs',
    settings: { baseUrl: 'http://127.0.0.1:1' },
    secret: { serviceAccount, clientToken: 'our-client-token' },
  });
  expect(rcs).toMatchObject({ channel: 'RCS', tokens: { clientToken: 'our-client-token' } });
  expect(JSON.stringify(rcs)).not.toContain('PRIVATE KEY');
});

test('an app that is not subscribed and a number that is not registered are found, and set up', async () => {
  const numbers = [{ id: '106', displayNumber: '+351 1', verifiedName: 'X', registered: false, pin: '123456' }];
  const graph = await startSandboxGraph({ numbers, subscribed: false });
  onTestFinished(() => graph.close());
  await operator.ask('POST', '/connections', {
    name: 'fresh',
    kind: 'whatsapp',
    settings: { baseUrl: graph.baseUrl, wabaId: graph.wabaId, appId: graph.appId, phoneNumberIds: ['106'] },
    secret: { accessToken: graph.accessToken, appSecret: graph.appSecret },
  });
  const tryIt = () => operator.ask<Tried>('POST', '/connections/fresh/test');
  const missing = await tryIt();
  expect(okOf(missing)).toEqual({ resolve: true, connect: true, bind: true, subscribe: false, register: false });
  expect(missing).toMatchObject({ ok: false, detail: expect.stringContaining('connection setup fresh') });
  expect(missing.steps.at(-1)?.detail).toContain('connection setup fresh --pin PIN');
  await until('the doctor finds it', async () => {
    const { findings } = await operator.ask<{ findings: { name: string; ok: boolean }[] }>('GET', '/doctor');
    return findings.some(({ name, ok }) => name === 'whatsapp fresh: subscribe' && !ok);
  });
  const setUp = (body: object) => operator.ask('POST', '/connections/fresh/setup', body);
  expect(await setUp({})).toMatchObject({ ok: false, steps: [{ ok: true }, { ok: false }] });
  expect(await setUp({ pin: '654321' })).toMatchObject({
    steps: [{ ok: true }, { ok: false, detail: expect.stringContaining('133005') }],
  });
  expect(await setUp({ pin: '123456' })).toMatchObject({ ok: true, steps: [{ ok: true }, { ok: true }] });
  expect(await tryIt()).toMatchObject({ ok: true });
  const { data } = await operator.ask<{ data: object[] }>('GET', '/audit?action=connection.set-up');
  expect(data[0]).toMatchObject({ subject: 'connection:fresh', detail: { subscribe: true, register: true } });
});

test('where nothing has to be set up at the carrier, there is nothing to call, and a PIN has six digits', async () => {
  await operator.ask('POST', '/connections', { name: 'plain', ...linkOf() });
  expect((await operator.request('POST', '/connections/plain/setup', {})).status).toBe(404);
  expect(await operator.request('POST', '/connections/fresh/setup', { pin: '12' })).toMatchObject({
    status: 400,
    body: { details: [{ field: 'pin', message: 'must have 6 digits' }] },
  });
});

test('WhatsApp is tried with its token, and its templates are asked for', async () => {
  const { graph } = await connectGraph(program);
  try {
    expect(await operator.ask('POST', '/connections/meta/test')).toMatchObject({ ok: true });
    expect(await operator.ask('POST', '/connections/meta/templates/sync')).toMatchObject({ ok: true, detail: null });
    await operator.ask('PUT', '/connections/meta', { secret: { accessToken: 'expired' } });
    const tried = await operator.ask<Tried>('POST', '/connections/meta/test');
    expect(okOf(tried)).toEqual({ resolve: true, connect: true, bind: false });
    expect(await operator.ask('POST', '/connections/meta/templates/sync')).toMatchObject({
      ok: false,
      templates: null,
    });
  } finally {
    await graph.close();
  }
});
