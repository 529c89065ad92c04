import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/carriers/smpp-harness.ts';
import { sandbox, secretsFor, settingsFor, TEMPLATES } from '../../../test/support/carriers/whatsapp-harness.ts';
import type { SandboxGraph } from '../../sandbox/graph-server.ts';
import { startServer } from '../../sandbox/http-server.ts';
import { verifyChallenge } from './callbacks.ts';
import { isAppSubscribed, listPhoneNumbers, registerNumber, subscribeApp } from './account.ts';
import { createGraphClient, downloadMedia, type GraphClient, uploadMedia } from './client.ts';
import {
  createTemplate,
  deleteTemplate,
  editTemplate,
  listTemplates,
  type NetworkTemplate,
  uploadSample,
} from './templates.ts';

function clientOf(graph: SandboxGraph, settings: object = {}, secrets: object = {}): GraphClient {
  const client = createGraphClient(settingsFor(graph, settings), secretsFor(graph, secrets));
  onTestFinished(() => client.close());
  return client;
}

async function open(): Promise<{ graph: SandboxGraph; client: GraphClient }> {
  const graph = await sandbox();
  return { graph, client: clientOf(graph) };
}

const listed = async (client: GraphClient): Promise<NetworkTemplate[]> => {
  const result = await listTemplates(client);
  return result.ok ? result.value : [];
};

const draft = (name: string, more: object = {}) => ({
  name,
  language: 'en_US',
  category: 'UTILITY',
  components: [{ type: 'BODY', text: 'Hello {{1}}, welcome.' }],
  ...more,
});

describe('templates', () => {
  test('are listed with their status, components and parameter format', async () => {
    const { client } = await open();
    const all = await listed(client);
    expect(all.map(({ name, status }) => [name, status])).toEqual(TEMPLATES.map(({ name }) => [name, 'APPROVED']));
    expect(all[2]).toMatchObject({ parameterFormat: 'NAMED', category: 'MARKETING', rejectedReason: null });
    expect(all[2]?.components).toEqual(TEMPLATES[2].components);
  });

  test('are listed completely when they are more than one page', async () => {
    const { graph, client } = await open();
    for (let n = 0; n < 220; n += 1) graph.templates.seed(draft(`t${n}`));
    const names = (await listed(client)).map(({ name }) => name);
    expect(new Set(names).size).toBe(224);
    expect(names).toHaveLength(224);
  });

  test('are created, approved, edited and deleted', async () => {
    const { client } = await open();
    const created = await createTemplate(client, draft('fresh', { allowCategoryChange: true, ttlSeconds: 600 }));
    expect(created).toMatchObject({ ok: true, value: { status: 'PENDING', category: 'UTILITY' } });
    const id = created.ok ? created.value.id : '';
    const status = async (): Promise<unknown> => (await listed(client)).find((one) => one.id === id)?.status;
    await expect.poll(status, { interval: 5 }).toBe('APPROVED');
    const components = [{ type: 'BODY', text: 'Goodbye.' }];
    expect(await editTemplate(client, id, { components })).toEqual({ ok: true, value: true });
    expect((await listed(client)).find((one) => one.id === id)?.components).toEqual(components);
    expect(await deleteTemplate(client, { name: 'fresh', id })).toEqual({ ok: true, value: true });
    expect(await status()).toBeUndefined();
  });

  test('that the network refuses have its code and text', async () => {
    const { client } = await open();
    const body = (text: string) => draft('x', { components: [{ type: 'BODY', text }] });
    const codes = [];
    for (const one of [body('{{1}} first'), body('x'.repeat(1025)), draft('Upper Case'), draft('hello')]) {
      const result = await createTemplate(client, one);
      codes.push(result.ok ? 'created' : result.fault.code);
    }
    expect(codes).toEqual(['2388299', '2388040', '100', '100']);
    expect(await deleteTemplate(client, { name: 'nobody' })).toMatchObject({ ok: false, fault: { retry: false } });
  });
});

test('numbers are listed as the network shows them', async () => {
  const { client } = await open();
  expect(await listPhoneNumbers(client)).toEqual({
    ok: true,
    value: [
      {
        id: '100000000000001',
        displayNumber: '+351 900 000 001',
        verifiedName: 'Heliograph sandbox',
        quality: 'GREEN',
        registered: true,
        messagingLimit: null,
      },
    ],
  });
});

test('a number is registered with its PIN, and the code of the network says why it is not', async () => {
  const numbers = [{ id: '106', displayNumber: '+351 1', verifiedName: 'X', registered: false, pin: '123456' }];
  const client = clientOf(await sandbox({ numbers }));
  const registered = async () => {
    const answer = await listPhoneNumbers(client);
    return answer.ok && answer.value.map((number) => number.registered);
  };
  expect(await registered()).toEqual([false]);
  expect(await registerNumber(client, { id: '106', pin: '654321' })).toMatchObject({ fault: { code: '133005' } });
  expect(await registerNumber(client, { id: '106', pin: '123456' })).toEqual({ ok: true, value: true });
  expect(await registered()).toEqual([true]);
});

test('the app is subscribed to the account, and another app of the account does not count', async () => {
  const graph = await sandbox({ subscribed: false });
  const client = clientOf(graph);
  expect(await isAppSubscribed(client)).toEqual({ ok: true, value: false });
  expect(await subscribeApp(client, null)).toEqual({ ok: true, value: true });
  expect(await isAppSubscribed(client)).toEqual({ ok: true, value: true });
  const server = await startServer({
    maxBytes: 1000,
    handle: ({ path }) => ({
      status: 200,
      body: path.endsWith('/app') ? { id: '42' } : { data: [{ whatsapp_business_api_data: { id: '43' } }] },
    }),
  });
  onTestFinished(() => server.close());
  expect(await isAppSubscribed(clientOf(graph, { baseUrl: server.url }))).toEqual({ ok: true, value: false });
});

test('the account gets its own callback URL, which the network verifies with the token of the connection', async () => {
  const graph = await sandbox({ subscribed: false });
  const token = 'ours';
  const server = await startServer({
    maxBytes: 1000,
    handle: ({ query }) => ({ status: 200, body: verifyChallenge(Object.fromEntries(query), token) ?? '' }),
  });
  onTestFinished(() => server.close());
  const override = (verifyToken: string) => subscribeApp(clientOf(graph), { url: `${server.url}/cb`, verifyToken });
  expect(await override('theirs')).toMatchObject({ ok: false, fault: { code: '100' } });
  expect(await isAppSubscribed(clientOf(graph))).toEqual({ ok: true, value: false });
  expect(await override(token)).toEqual({ ok: true, value: true });
  expect(await isAppSubscribed(clientOf(graph))).toEqual({ ok: true, value: true });
});

describe('files', () => {
  const bytes = Buffer.from([0xff, 0xd8, 0, 13, 10, 45, 45, 0xff]);

  test('are uploaded and fetched back, byte by byte', async () => {
    const { graph, client } = await open();
    const id = await uploadMedia(client, graph.numbers[0]?.id ?? '', {
      bytes,
      mimeType: 'image/jpeg',
      fileName: 'a"\r\nb.jpg',
    });
    expect(id).toMatchObject({ ok: true, value: expect.stringMatching(/^\d+$/) });
    const back = await downloadMedia(client, { id: id.ok ? id.value : '', maxBytes: 1000 });
    expect(back).toEqual({ ok: true, value: { bytes, mimeType: 'image/jpeg' } });
  });

  test('that exceed the limit are not fetched', async () => {
    const { graph, client } = await open();
    const { id } = await received(graph);
    expect(await downloadMedia(client, { id, maxBytes: 3 })).toMatchObject({ ok: false, fault: { code: 'TOO_LARGE' } });
    expect(graph.ledger.counts().downloads).toBe(0);
  });

  test('whose URL has expired are requested once more', async () => {
    let addresses = 0;
    const api = await startServer({
      maxBytes: 1000,
      handle({ path }) {
        if (path.startsWith('/v')) return { status: 200, body: { url: `${api.url}/file-${++addresses}` } };
        return path === '/file-2' ? { status: 200, body: 'picture' } : { status: 404, body: '' };
      },
    });
    onTestFinished(() => api.close());
    const client = clientOf(await sandbox(), { baseUrl: api.url });
    const file = await downloadMedia(client, { id: '1', maxBytes: 1000 });
    expect(file).toMatchObject({ ok: true, value: { bytes: Buffer.from('picture') } });
    const gone = await downloadMedia(client, { id: '1', maxBytes: 1000 });
    expect(gone).toMatchObject({ ok: false, fault: { status: 404, retry: false } });
    expect(addresses).toBe(4);
  });

  test('that do not exist are a permanent fault', async () => {
    const { client } = await open();
    expect(await downloadMedia(client, { id: '1/../2', maxBytes: 1 })).toMatchObject({
      ok: false,
      fault: { retry: false },
    });
  });

  test('are fetched only from hosts that may receive the token', async () => {
    const seen: string[] = [];
    const trap = await startServer({
      maxBytes: 1000,
      handle: ({ headers }) => {
        seen.push(headers.authorization ?? '');
        return { status: 200, body: 'x' };
      },
    });
    onTestFinished(() => trap.close());
    const api = await startServer({
      maxBytes: 1000,
      handle: ({ path }) => ({
        status: 200,
        body: { id: '1', url: addresses[path.slice(-1)], mime_type: 'image/png' },
      }),
    });
    onTestFinished(() => api.close());
    const addresses: Record<string, string> = {
      1: `${trap.url}/file`,
      2: trap.url.replace('http:', 'https:'),
      3: `http://lookaside.fbsbx.com/file`,
      4: `https://lookaside.fbsbx.com:8443/file`,
      5: `https://lookaside.fbsbx.com.evil.example/file`,
      6: `${api.url}@${trap.url.slice(7)}/file`,
      7: 'file:///etc/passwd',
      8: 'not an address',
    };
    const graph = await sandbox();
    const client = clientOf(graph, { baseUrl: api.url });
    for (const id of Object.keys(addresses)) {
      expect(await downloadMedia(client, { id, maxBytes: 10 })).toMatchObject({ fault: { code: 'FOREIGN_HOST' } });
    }
    expect(seen).toEqual([]);
  });
});

async function received(graph: SandboxGraph): Promise<{ id: string }> {
  const bytes = Buffer.from('picture');
  let id = '';
  const server = await startServer({
    maxBytes: 10_000,
    handle: ({ body }) => {
      id = JSON.parse(body.toString()).entry[0].changes[0].value.messages[0].image.id;
      return { status: 200, body: 'ok' };
    },
  });
  onTestFinished(() => server.close());
  graph.setCallback(server.url);
  await graph.injectInbound({ from: '351912345678', type: 'image', file: { bytes, mimeType: 'image/png' } });
  await until(() => id !== '');
  return { id };
}

describe('a call that fails', () => {
  test('reports that the token was refused', async () => {
    const graph = await sandbox();
    const client = clientOf(graph, {}, { accessToken: 'wrong' });
    expect(await listTemplates(client)).toMatchObject({ ok: false, fault: { code: '190', status: 401, retry: false } });
  });

  test('may be repeated when the API is unreachable', async () => {
    const { graph, client } = await open();
    await graph.close();
    expect(await listTemplates(client)).toMatchObject({ ok: false, fault: { code: 'UNREACHABLE', retry: true } });
  });

  test.each([
    ['a redirect, which is not followed', { status: 302, body: '', headers: { location: '/' } }, 'HTTP_302', false],
    ['a page instead of JSON', { status: 502, body: '<html>' }, 'HTTP_502', true],
    ['a failure with the body of a success', { status: 500, body: { data: [] } }, 'HTTP_500', true],
    ['JSON without what was asked for', { status: 200, body: { success: true } }, 'HTTP_200', false],
  ])('is distinguished: %s', async (_, answer, code, retry) => {
    const api = await startServer({ maxBytes: 1000, handle: () => answer });
    onTestFinished(() => api.close());
    const client = clientOf(await sandbox(), { baseUrl: api.url });
    expect(await listTemplates(client)).toMatchObject({ ok: false, fault: { code, retry } });
  });
});

describe('samples of templates', () => {
  const file = { bytes: Buffer.from('picture'), mimeType: 'image/jpeg', fileName: 'a.jpg' };
  const header = (handle: string) => [
    { type: 'HEADER', format: 'IMAGE', example: { header_handle: [handle] } },
    { type: 'BODY', text: 'Hello there.' },
  ];

  test('are uploaded in two steps, and a template with their handle is accepted', async () => {
    const { client } = await open();
    const handle = await uploadSample(client, file);
    const components = header(handle.ok ? handle.value : '');
    expect(await createTemplate(client, draft('picture', { components }))).toMatchObject({ ok: true });
    const invented = await createTemplate(client, draft('other', { components: header('4::invented') }));
    expect(invented).toMatchObject({ ok: false, fault: { code: '2388047' } });
  });

  test('of a type that headers cannot have, or on a connection without an app, are refused', async () => {
    const { graph, client } = await open();
    const wrong = await uploadSample(client, { ...file, mimeType: 'image/gif' });
    expect(wrong).toMatchObject({ ok: false, fault: { code: '100', status: 400 } });
    const { appId: _, ...without } = settingsFor(graph);
    const bare = createGraphClient(without, secretsFor(graph));
    onTestFinished(() => bare.close());
    expect(await uploadSample(bare, file)).toMatchObject({ ok: false, fault: { code: 'NO_APP', status: null } });
  });
});
