import sharp from 'sharp';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Answer, Client } from '../../test/support/client.ts';
import { formOf } from '../../test/support/http/form.ts';
import { connectGraph, type TestGraph } from '../../test/support/networks.ts';
import { runOperatorCommand } from '../../test/support/operator.ts';
import { startTestProgram, type TestProgram } from '../../test/support/program.ts';
import { wakeCampaignsUsing } from '../campaigns/lifecycle.ts';
import { loadConfig } from '../core/config.ts';
import { many, sql } from '../core/db/query.ts';
import { silentLog } from '../core/log.ts';
import { loadSecretKey } from '../core/secrets.ts';
import { createAccount } from '../operate/account-commands.ts';
import { findConnection } from '../routing/connection-store.ts';
import { syncConnection, syncTemplates } from './sync.ts';

const MS = '/api/message-server';
const WHATSAPP = `${MS}/whatsapp/templates`;
const RCS = `${MS}/rcs/templates`;

let program: TestProgram;
let otherClient: Client;
let network: TestGraph;
beforeAll(async () => {
  program = await startTestProgram({ carriers: {}, roles: { worker: false } });
  otherClient = program.clientOf((await createAccount(program.pool, { name: 'Neighbour', plan: 'unlimited' })).apiKey);
  network = await connectGraph(program);
});
afterAll(async () => {
  await program[Symbol.asyncDispose]();
  await network.graph.close();
});

const ask = (method: string, path: string, body?: object, headers = {}): Promise<Answer> =>
  program.client.request(method, path, { ...(body && { body }), headers });
const fieldsOf = ({ body }: Answer): string[] =>
  (body as { details: { field: string }[] }).details.map(({ field }) => field);
const idOf = ({ body }: Answer): string => String((body as { id: string }).id);

let made = 0;
const offer = (more: object = {}) => ({
  phoneNumberId: network.number,
  name: `offer_${++made}`,
  language: 'en',
  category: 'MARKETING',
  components: [{ type: 'BODY', text: 'Dear {{1}}, here it is.', example: { body_text: [['Ana']] } }],
  ...more,
});
const syncNow = async () => {
  const { pool, environment } = program;
  const secretKey = await loadSecretKey(loadConfig(environment));
  const connection = await findConnection(pool, { name: 'meta' });
  if (!connection) throw new Error('no connection');
  return syncConnection({ pool, secretKey, onTemplatesChange: wakeCampaignsUsing }, connection);
};

test('a template is submitted to the network and stored for its owner, with the names of its placeholders', async () => {
  const answer = await ask('POST', WHATSAPP, offer({ variables: ['firstName|friend'] }));
  expect(answer).toMatchObject({
    status: 201,
    body: { status: 'PENDING', placeholders: ['1'], variables: ['firstName|friend'], common: false, reason: null },
  });
  const id = idOf(answer);
  expect(network.graph.templates.all().map((template) => template.id)).toContain(id);
  expect(await ask('GET', `${WHATSAPP}/${id}`)).toMatchObject({ status: 200, body: { id } });
  expect((await otherClient.request('GET', `${WHATSAPP}/${id}`)).status).toBe(404);
  const log = await many(program.pool, sql`SELECT FROM audit_entry WHERE subject = ${`template:${id}`}`);
  expect(log).toHaveLength(1);
});

test('a refusal of the network is 400 with its own text, and nothing is stored', async () => {
  const twice = offer();
  expect((await ask('POST', WHATSAPP, twice)).status).toBe(201);
  const again = await ask('POST', WHATSAPP, twice);
  expect(again).toMatchObject({ status: 400, body: { details: [{ field: 'template' }] } });
  expect(JSON.stringify(again.body)).toContain('already content');
});

test('one Idempotency-Key creates one template', async () => {
  const headers = { 'idempotency-key': 'once' };
  const body = offer();
  const answers = [await ask('POST', WHATSAPP, body, headers), await ask('POST', WHATSAPP, body, headers)];
  expect(answers.map(({ status }) => status)).toEqual([201, 201]);
  expect(answers.map(idOf)).toEqual([idOf(answers[0] as Answer), idOf(answers[0] as Answer)]);
});

test('errors are reported before the network is asked', async () => {
  const taken = network.graph.templates.all().length;
  expect(fieldsOf(await ask('POST', WHATSAPP, offer({ phoneNumberId: '1' })))).toEqual(['phoneNumberId']);
  expect(fieldsOf(await ask('POST', WHATSAPP, offer({ variables: ['a', 'b'] })))).toEqual(['variables']);
  const wrong = await ask('POST', WHATSAPP, { ...offer(), name: 'No', language: 5, category: 'SPAM' });
  expect(fieldsOf(wrong).toSorted()).toEqual(['category', 'language', 'name']);
  expect((await otherClient.request('POST', WHATSAPP, { body: offer() })).status).toBe(400);
  expect(network.graph.templates.all()).toHaveLength(taken);
});

test('components for campaigns are checked against the template, and go when its content or its variables change', async () => {
  const sent = (text: string) => [{ type: 'body', parameters: [{ type: 'text', text }] }];
  const wrong = await ask('POST', WHATSAPP, offer({ campaignComponents: [{ type: 'body', parameters: [] }] }));
  expect(fieldsOf(wrong)).toEqual(['campaignComponents[0].parameters']);
  const id = idOf(await ask('POST', WHATSAPP, offer({ campaignComponents: sent('{{firstName|friend}}') })));
  const change = async (patch: object) => {
    await ask('PATCH', `${WHATSAPP}/${id}`, patch);
    return (await ask('GET', `${WHATSAPP}/${id}`)).body;
  };
  expect(await change({ headerLink: null })).toMatchObject({
    variables: ['firstName|friend'],
    campaignComponents: sent('{{firstName|friend}}'),
  });
  const both = await ask('PATCH', `${WHATSAPP}/${id}`, { variables: ['city'], campaignComponents: sent('x') });
  expect(fieldsOf(both)).toEqual(['variables']);
  expect(await change({ campaignComponents: sent('Dear') })).toMatchObject({ variables: [] });
  expect(await change({ variables: ['city'] })).toMatchObject({ variables: ['city'], campaignComponents: null });
});

test('a header with a file is submitted with a sample from the account’s own files', async () => {
  const components = [
    { type: 'HEADER', format: 'IMAGE' },
    { type: 'BODY', text: 'See this.' },
  ];
  const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: 'teal' } })
    .png()
    .toBuffer();
  const form = await formOf({ name: 'a.png', content: Uint8Array.from(picture) });
  const uploaded = await program.client.request('POST', '/api/partner-gateway/v1/media', form);
  const headerMediaId = (uploaded.body as { id: number }).id;
  expect((await ask('POST', WHATSAPP, offer({ components }))).status).toBe(400);
  const id = idOf(await ask('POST', WHATSAPP, offer({ components, headerMediaId })));
  const atNetwork = () => network.graph.templates.all().find((template) => template.id === id)?.components[0];
  const shown = { example: { header_handle: [expect.any(String)] } };
  expect(atNetwork()).toMatchObject(shown);
  network.graph.templates.move(id, 'APPROVED');
  const changed = [
    { type: 'HEADER', format: 'IMAGE', note: 2 },
    { type: 'BODY', text: 'See that.' },
  ];
  expect((await ask('PATCH', `${WHATSAPP}/${id}`, { components: changed, headerMediaId })).status).toBe(200);
  expect(atNetwork()).toMatchObject({ note: 2, ...shown });
  const faults = [
    await ask('POST', WHATSAPP, offer({ components, headerMediaId: 999_999 })),
    await ask('POST', WHATSAPP, offer({ headerMediaId })),
    await ask('PATCH', `${WHATSAPP}/${id}`, { headerMediaId }),
  ];
  expect(faults.map(fieldsOf)).toEqual([['headerMediaId'], ['headerMediaId'], ['headerMediaId']]);
});

test('changed components are submitted for approval again; variables and the file of the header are not', async () => {
  const id = idOf(await ask('POST', WHATSAPP, offer()));
  network.graph.templates.move(id, 'APPROVED');
  await syncNow();
  const ours = { variables: ['city'], headerLink: 'https://x.example/a.jpg' };
  expect(await ask('PATCH', `${WHATSAPP}/${id}`, ours)).toMatchObject({
    status: 200,
    body: { ...ours, status: 'APPROVED' },
  });
  const components = [{ type: 'BODY', text: 'Hello there.' }];
  expect(await ask('PATCH', `${WHATSAPP}/${id}`, { components })).toMatchObject({
    status: 200,
    body: { components, variables: [], status: 'PENDING', headerLink: ours.headerLink },
  });
  const foreign = await otherClient.request('PATCH', `${WHATSAPP}/${id}`, { body: { variables: [] } });
  const unknown = await otherClient.request('PATCH', `${WHATSAPP}/nothing`, { body: { variables: [] } });
  expect([foreign.status, unknown.status]).toEqual([404, 404]);
});

test('a deleted template is also deleted at the network', async () => {
  const id = idOf(await ask('POST', WHATSAPP, offer()));
  expect((await otherClient.request('DELETE', `${WHATSAPP}/${id}`)).status).toBe(404);
  expect((await ask('DELETE', `${WHATSAPP}/${id}`)).status).toBe(204);
  expect(network.graph.templates.all().map((template) => template.id)).not.toContain(id);
  expect((await ask('GET', `${WHATSAPP}/${id}`)).status).toBe(404);
});

test('templates made, changed and deleted at the network are there after a sync, for the owner of the number', async () => {
  network.graph.templates.seed({ ...offer(), name: 'made_there' });
  const gone = idOf(await ask('POST', WHATSAPP, offer()));
  network.graph.templates.move(gone, 'DELETED');
  expect(await syncNow()).toMatchObject({ ok: true });
  const page = (await ask('GET', `${WHATSAPP}?search=MADE_there`)).body;
  expect(page).toMatchObject({ total: 1, data: [{ name: 'made_there', status: 'APPROVED', common: false }] });
  expect(await ask('GET', `${WHATSAPP}/${gone}`)).toMatchObject({ body: { status: 'DELETED' } });
  expect((await otherClient.request('GET', `${WHATSAPP}?search=made_there`)).body).toMatchObject({ total: 0 });
  expect(await ask('GET', `${MS}/whatsapp/phone-numbers`)).toMatchObject({
    body: { total: 1, data: [{ phoneNumberId: network.number, verifiedName: 'Heliograph sandbox', common: false }] },
  });
});

test('the operator starts a sync by hand', async () => {
  const [synced, unknown] = [
    await runOperatorCommand(program, 'template', 'sync', 'meta'),
    await runOperatorCommand(program, 'template', 'sync', 'x'),
  ];
  expect(synced).toMatchObject({ code: 0, answer: { ok: true, templates: network.graph.templates.all().length } });
  expect(unknown).toMatchObject({ code: 1, stderr: expect.stringContaining('no connection x') });
});

test('the periodic sync skips paused connections and the sandbox', async () => {
  const { pool, environment } = program;
  const deps = {
    pool,
    onTemplatesChange: wakeCampaignsUsing,
    secretKey: await loadSecretKey(loadConfig(environment)),
    log: silentLog,
    sandbox: () => false,
  };
  const requests = (): number => network.graph.ledger.counts().requests;
  const before = requests();
  await syncTemplates(deps);
  expect(requests()).toBeGreaterThan(before);
  await pool.query(`UPDATE connection SET status = 'paused'`);
  const paused = requests();
  await syncTemplates(deps);
  expect(requests()).toBe(paused);
  await pool.query(`UPDATE connection SET status = 'active'`);
});

test('a failed periodic sync is logged as a warning, but not for the sandbox, which is this program itself', async () => {
  const { pool, environment } = program;
  const warnings: object[] = [];
  const deps = {
    pool,
    onTemplatesChange: wakeCampaignsUsing,
    secretKey: await loadSecretKey(loadConfig(environment)),
    log: { ...silentLog, warn: (fields: object) => warnings.push(fields) },
    sandbox: () => true,
  };
  const connection = await findConnection(pool, { name: 'meta' });
  const away = { ...connection?.settings, baseUrl: 'http://127.0.0.1:1' };
  await pool.query('UPDATE connection SET settings = $1, sandbox = true', [JSON.stringify(away)]);
  await syncTemplates(deps);
  expect(warnings).toEqual([]);
  await pool.query('UPDATE connection SET sandbox = false');
  await syncTemplates(deps);
  expect(warnings).toEqual([expect.objectContaining({ connection: 'meta' })]);
  await pool.query('UPDATE connection SET settings = $1', [JSON.stringify(connection?.settings)]);
});

test('while the network is unavailable the response is 502, and nothing is stored', async () => {
  network.graph.cut();
  const connection = await findConnection(program.pool, { name: 'meta' });
  const away = { ...connection?.settings, baseUrl: 'http://127.0.0.1:1' };
  await program.pool.query('UPDATE connection SET settings = $1', [JSON.stringify(away)]);
  expect((await ask('POST', WHATSAPP, offer({ name: 'never' }))).status).toBe(502);
  expect(await syncNow()).toMatchObject({ ok: false });
  await program.pool.query('UPDATE connection SET settings = $1', [JSON.stringify(connection?.settings)]);
  expect((await ask('GET', `${WHATSAPP}?search=never`)).body).toMatchObject({ total: 0 });
});

test('an RCS template is approved at once, with named placeholders', async () => {
  const body = { type: 'TEXT', text: 'Hello {{firstName}} of {{city}}' };
  const answer = await ask('POST', RCS, { name: 'Hello', body, trafficType: 'PROMOTION' });
  expect(answer).toMatchObject({
    status: 201,
    body: {
      status: 'APPROVED',
      placeholders: ['city', 'firstName'],
      variables: ['city', 'firstName'],
      content: { text: 'Hello {{firstName}} of {{city}}' },
      trafficType: 'PROMOTION',
    },
  });
  const id = idOf(answer);
  expect((await ask('GET', RCS)).body).toMatchObject({ total: 1, data: [{ id }] });
  expect((await otherClient.request('GET', `${RCS}/${id}`)).status).toBe(404);
  expect((await otherClient.request('DELETE', `${RCS}/${id}`)).status).toBe(404);
  expect((await ask('DELETE', `${RCS}/${id}`)).status).toBe(204);
});

test('a card needs content, its files are named by url, and only the operator can change a shared template', async () => {
  const empty = { name: 'Empty', body: { type: 'CARD', card: {} } };
  expect(fieldsOf(await ask('POST', RCS, empty))).toEqual(['body.card']);
  const own = { name: 'own', body: { type: 'CARD', card: { media: { mediaId: 1 } } } };
  expect(fieldsOf(await ask('POST', RCS, own))).toEqual(['body.card.media.mediaId']);
  await program.pool.query(
    `INSERT INTO template (channel, id, name, status, content) VALUES ('RCS', 'common', 'All', 'APPROVED', '{"text": "Hi"}')`,
  );
  expect((await ask('GET', `${RCS}/common`)).body).toMatchObject({ common: true });
  expect((await ask('DELETE', `${RCS}/common`)).status).toBe(403);
});

test('a requested agent waits for the operator', async () => {
  const agents = `${MS}/rcs/agents`;
  const wanted = { displayName: 'Acme shop', description: 'Offers', useCase: 'PROMOTIONAL' };
  const answer = await ask('POST', agents, wanted);
  expect(answer).toMatchObject({
    status: 201,
    body: { agentId: null, status: 'PENDING', displayName: 'Acme shop', details: { description: 'Offers' } },
  });
  expect((await ask('GET', agents)).body).toMatchObject({ total: 1 });
  expect((await otherClient.request('GET', agents)).body).toMatchObject({ total: 0 });
  expect(fieldsOf(await ask('POST', agents, { displayName: '', color: 'blue' }))).toEqual(['displayName', 'color']);
});
