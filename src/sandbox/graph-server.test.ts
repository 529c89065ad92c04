import { describe, expect, onTestFinished, test } from 'vitest';
import { sandbox, TEMPLATES } from '../../test/support/carriers/whatsapp-harness.ts';
import type { SandboxGraph } from './graph-server.ts';
import { startServer } from './http-server.ts';

type Reply = {
  readonly status: number;
  readonly json: {
    readonly id?: string;
    readonly success?: boolean;
    readonly data?: readonly { readonly id: string }[];
    readonly messages?: readonly { readonly id: string; readonly message_status: string }[];
    readonly error?: { readonly code: number; readonly type: string; readonly error_subcode?: number };
  };
};

const NUMBER = '100000000000001';

async function ask(
  graph: SandboxGraph,
  path: string,
  body?: object | string | FormData,
  more: { method?: string; token?: string } = {},
): Promise<Reply> {
  const { method = body === undefined ? 'GET' : 'POST', token = graph.accessToken } = more;
  const sent = typeof body === 'object' && !(body instanceof FormData) ? JSON.stringify(body) : body;
  const response = await fetch(`${graph.baseUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(sent === undefined ? {} : { body: sent }),
  });
  return { status: response.status, json: JSON.parse(await response.text()) };
}

const send = (graph: SandboxGraph, more: object, number = NUMBER): Promise<Reply> =>
  ask(graph, `/v23.0/${number}/messages`, { messaging_product: 'whatsapp', to: '+351912345678', ...more });

const codeOf = async (graph: SandboxGraph, more: object): Promise<number> =>
  (await send(graph, more)).json.error?.code ?? 0;

const template = (name: string, components?: object[], language = 'en_US'): object => ({
  type: 'template',
  template: { name, language: { code: language }, ...(components ? { components } : {}) },
});
const text = (value: string, more: object = {}): object => ({ type: 'text', text: value, ...more });

describe('a request', () => {
  test.each([
    ['without the token', '/v23.0/100000000000001/messages', 401, 190, { token: 'wrong' }],
    ['to a number that is not ours', '/v23.0/42/messages', 400, 100, {}],
    ['without a version', '/100000000000001/messages', 400, 2500, {}],
    ['to an edge that is none', '/v23.0/100000000000001/nothing', 400, 2500, {}],
  ])('%s gets a response in the documented format', async (_, path, status, code, more) => {
    const reply = await ask(await sandbox(), path, {}, more);
    expect(reply).toMatchObject({ status, json: { error: { code, type: expect.stringMatching(/Exception$/) } } });
  });

  test.each([
    ['without the proof of the app secret is refused while the app requires it', true, '', 'API calls from the server'],
    ['with a wrong proof is always refused', false, '?appsecret_proof=00', 'Invalid appsecret_proof'],
  ])('%s', async (_, requireProof, query, message) => {
    const graph = await sandbox({ script: { requireProof } });
    const { status, json } = await ask(graph, `/v23.0/${NUMBER}${query}`);
    expect(status).toBe(400);
    expect(json.error).toMatchObject({
      code: 100,
      type: 'GraphMethodException',
      message: expect.stringContaining(message),
    });
  });

  test('that is not JSON is refused', async () => {
    const reply = await ask(await sandbox(), `/v23.0/${NUMBER}/messages`, '{');
    expect(reply.json.error?.code).toBe(100);
  });

  test('is counted, and a message is in the ledger', async () => {
    const graph = await sandbox();
    await send(graph, template('hello'));
    await send(graph, { messaging_product: 'x' });
    expect(graph.ledger.counts()).toMatchObject({ requests: 2, messages: 2, accepted: 1, refused: 1 });
    expect(graph.ledger.messages().map(({ code }) => code)).toEqual([0, 100]);
    expect(graph.ledger.answers()).toEqual({ 100: 1 });
  });
});

const button = (title: string, id = title): object => ({ type: 'reply', reply: { id, title } });
const interactive = (more: object): object => ({ type: 'interactive', interactive: { body: { text: 'Hi' }, ...more } });
const row = (n: number): object => ({ id: `r${n}`, title: `Row ${n}` });
const list = (rows: object[], action: object = {}): object =>
  interactive({ type: 'list', action: { button: 'Open', sections: [{ title: 'S', rows }], ...action } });

describe('a free-form message', () => {
  test.each<[string, object]>([
    ['text', { text: { body: 'x'.repeat(4096) } }],
    ['an image by its address', { type: 'image', image: { link: 'https://x.example/a.jpg', caption: 'c' } }],
    ['a location', { type: 'location', location: { latitude: 37.75, longitude: -122.4, name: 'HQ' } }],
    ['contacts', { type: 'contacts', contacts: [{ name: { formatted_name: 'J' }, phones: [{ phone: '+1 650' }] }] }],
    ['a reaction', { type: 'reaction', reaction: { message_id: 'wamid.x', emoji: '' } }],
    ['buttons', interactive({ type: 'button', action: { buttons: [button('A'), button('B'), button('C')] } })],
    ['a list', list([row(1), row(2)])],
    [
      'a link',
      interactive({ type: 'cta_url', action: { parameters: { display_text: 'Go', url: 'https://x.example' } } }),
    ],
    ['a request for a place', interactive({ type: 'location_request_message', action: { name: 'send_location' } })],
    [
      'a flow',
      interactive({
        type: 'flow',
        action: { parameters: { flow_message_version: '3', flow_id: '1', flow_cta: 'Go' } },
      }),
    ],
    ['a read mark', { status: 'read', message_id: 'wamid.x' }],
  ])('passes: %s', async (_, more) => {
    expect((await send(await sandbox(), more)).status).toBe(200);
  });

  test.each<[string, number, object]>([
    ['without a product', 100, { messaging_product: undefined, text: { body: 'x' } }],
    ['without an addressee', 131008, { to: undefined, text: { body: 'x' } }],
    ['to no number', 131009, { to: 'Ana', text: { body: 'x' } }],
    ['to ourselves', 131021, { to: '+351 900 000 001', text: { body: 'x' } }],
    ['of no type', 100, { type: 'telegram', telegram: {} }],
    ['without its object', 131008, { type: 'text' }],
    ['without a text', 131008, { text: { body: '' } }],
    ['with a text that is too long', 131009, { text: { body: 'x'.repeat(4097) } }],
    ['with an id of ours that is too long', 131009, { text: { body: 'x' }, biz_opaque_callback_data: 'x'.repeat(513) }],
    ['with an address and an id', 131009, { type: 'image', image: { link: 'https://x.example', id: '1' } }],
    ['with a file that was not uploaded', 131009, { type: 'image', image: { id: '1' } }],
    ['with words on a sound', 131009, { type: 'audio', audio: { link: 'https://x.example', caption: 'c' } }],
    ['off the map', 131009, { type: 'location', location: { latitude: 91, longitude: 0 } }],
    ['with a contact without a name', 131008, { type: 'contacts', contacts: [{}] }],
    [
      'with four buttons',
      131009,
      interactive({ type: 'button', action: { buttons: ['A', 'B', 'C', 'D'].map((a) => button(a)) } }),
    ],
    ['with a long button', 131009, interactive({ type: 'button', action: { buttons: [button('x'.repeat(21))] } })],
    [
      'with one button twice',
      131009,
      interactive({ type: 'button', action: { buttons: [button('A', '1'), button('B', '1')] } }),
    ],
    ['with eleven rows', 131009, list(Array.from({ length: 11 }, (_, n) => row(n)))],
    [
      'with a list under a picture',
      131009,
      {
        ...list([row(1)]),
        interactive: { ...Object(Reflect.get(list([row(1)]), 'interactive')), header: { type: 'image' } },
      },
    ],
    [
      'without words',
      131008,
      { type: 'interactive', interactive: { type: 'button', action: { buttons: [button('A')] } } },
    ],
  ])('does not pass: %s (%i)', async (_, code, more) => {
    expect(await codeOf(await sandbox(), more)).toBe(code);
  });

  test('with an uploaded file is accepted until the file is deleted', async () => {
    const graph = await sandbox();
    const form = new FormData();
    form.set('messaging_product', 'whatsapp');
    form.set('type', 'image/png');
    form.set('file', new Blob(['picture'], { type: 'image/png' }), 'a.png');
    const { json } = await ask(graph, `/v23.0/${NUMBER}/media`, form);
    const image = { type: 'image', image: { id: json.id } };
    expect(await codeOf(graph, image)).toBe(0);
    expect((await ask(graph, `/v23.0/${json.id}`, undefined, { method: 'DELETE' })).json.success).toBe(true);
    expect(await codeOf(graph, image)).toBe(131009);
  });

  test('with a file of an unsupported type is not stored', async () => {
    const form = new FormData();
    form.set('messaging_product', 'whatsapp');
    form.set('file', new Blob(['<svg/>'], { type: 'image/svg+xml' }), 'a.svg');
    expect((await ask(await sandbox(), `/v23.0/${NUMBER}/media`, form)).json.error?.code).toBe(131053);
  });
});

const body = (...values: object[]): object => ({ type: 'body', parameters: values });
const picture = { type: 'header', parameters: [{ type: 'image', image: { link: 'https://x.example/a.jpg' } }] };
const suffix = { type: 'button', sub_type: 'url', index: '0', parameters: [text('abc')] };
const names = body(text('Ana', { parameter_name: 'first_name' }), text('it', { parameter_name: 'thing' }));
const code = (value: string): object => ({ ...suffix, parameters: [text(value)] });

describe('a template', () => {
  test.each<[string, object]>([
    ['without variables', template('hello')],
    ['with its value', template('order_update', [body(text('12345'))], 'pt_PT')],
    [
      'with an amount',
      template('order_update', [body({ type: 'currency', currency: { fallback_value: '$1' } })], 'pt_PT'),
    ],
    ['with names, a picture and a button', template('named', [picture, names, suffix])],
    ['with a code', template('code', [body(text('123456')), code('123456')])],
  ])('passes: %s', async (_, more) => {
    expect(await codeOf(await sandbox(), more)).toBe(0);
  });

  test.each<[string, number, object]>([
    ['that does not exist', 132001, template('nothing')],
    ['in another language', 132001, template('hello', undefined, 'pt_PT')],
    ['without a name', 131008, { type: 'template', template: {} }],
    ['without its value', 132000, template('order_update', [], 'pt_PT')],
    ['with a value too many', 132000, template('hello', [body(text('x'))])],
    ['with an empty value', 132012, template('order_update', [body(text(''))], 'pt_PT')],
    ['with a line break in a value', 100, template('order_update', [body(text('a\nb'))], 'pt_PT')],
    ['with a value that is too long', 132005, template('order_update', [body(text('x'.repeat(1024)))], 'pt_PT')],
    ['with values without names', 132012, template('named', [picture, body(text('a'), text('b')), suffix])],
    ['without the picture', 132012, template('named', [names, suffix])],
    ['without the end of the link', 132000, template('named', [picture, names])],
    ['with a button that it does not have', 132000, template('hello', [suffix])],
    ['with two codes', 132012, template('code', [body(text('123456')), code('654321')])],
    ['with a part of no type', 131009, template('hello', [{ type: 'footer' }])],
  ])('does not pass: %s (%i)', async (_, expected, more) => {
    expect(await codeOf(await sandbox(), more)).toBe(expected);
  });

  test('with a code cannot be sent to a user id', async () => {
    const graph = await sandbox();
    const message = {
      ...template('code', [body(text('123456')), code('123456')]),
      to: undefined,
      recipient: 'US.1349',
    };
    expect(await codeOf(graph, message)).toBe(131062);
    expect(await codeOf(graph, { ...template('hello'), to: undefined, recipient: 'US.1349' })).toBe(0);
  });

  test.each([
    ['PAUSED', 132015],
    ['DISABLED', 132016],
    ['REJECTED', 132001],
    ['FLAGGED', 0],
    ['DELETED', 132001],
  ])('that is %s gets %i', async (event, expected) => {
    const graph = await sandbox();
    graph.templates.move(graph.templates.all().find(({ name }) => name === 'hello')?.id ?? '', event);
    expect(await codeOf(graph, template('hello'))).toBe(expected);
  });

  test('with reject in its name is rejected', async () => {
    const graph = await sandbox();
    const draft = { ...TEMPLATES[1], name: 'reject_me' };
    await ask(graph, `/v23.0/${graph.wabaId}/message_templates`, draft);
    await expect.poll(() => graph.templates.all().at(-1)?.status, { interval: 5 }).toBe('REJECTED');
  });
});

describe('an existing template', () => {
  const seeded = { ...TEMPLATES[1], name: 'kept', id: '900000000000007', status: 'PAUSED' };

  test('keeps its id and its status, and its id is not reused', async () => {
    const graph = await sandbox({ templates: [seeded] });
    expect(graph.templates.all()).toMatchObject([{ id: '900000000000007', name: 'kept', status: 'PAUSED' }]);
    expect(graph.templates.seed({ ...seeded, name: 'other' })).toBe(false);
    expect(graph.templates.seed({ ...TEMPLATES[1], name: 'other' })).toBe(true);
    expect(graph.templates.all()[1]?.id).toBe('900000000000008');
  });

  test('that is pending is decided', async () => {
    const graph = await sandbox({ templates: [{ ...seeded, status: 'PENDING' }] });
    await expect.poll(() => graph.templates.all()[0]?.status, { interval: 5 }).toBe('APPROVED');
  });
});

describe('a rate limit', () => {
  test('of messages per second applies to each number', async () => {
    const graph = await sandbox({ script: { tps: 4 } });
    expect([await codeOf(graph, template('hello')), await codeOf(graph, template('hello'))]).toEqual([0, 130429]);
  });

  test('of messages to one person applies to the pair', async () => {
    const graph = await sandbox({ script: { pairBurst: 3 } });
    const codes = [];
    for (let n = 0; n < 4; n += 1) codes.push(await codeOf(graph, template('hello')));
    expect(codes).toEqual([0, 0, 0, 131056]);
    expect(await codeOf(graph, { ...template('hello'), to: '+351912345679' })).toBe(0);
  });
});

describe('the script', () => {
  test('refuses by the last digits, always or a number of times', async () => {
    const graph = await sandbox();
    const codes = [];
    for (let n = 0; n < 4; n += 1) codes.push(await codeOf(graph, { ...template('hello'), to: '+351912349910' }));
    expect(codes).toEqual([130429, 130429, 130429, 0]);
    expect(await codeOf(graph, { ...template('hello'), to: '+351912340003' })).toBe(135000);
  });

  test('holds a message for quality assessment', async () => {
    const reply = await send(await sandbox(), { ...template('hello'), to: '+351912349913' });
    expect(reply.json.messages?.[0]?.message_status).toBe('held_for_quality_assessment');
  });
});

describe('a number that is not registered', () => {
  test('sends nothing until it is registered with its PIN', async () => {
    const numbers = [{ id: NUMBER, displayNumber: '+351 1', verifiedName: 'X', registered: false, pin: '123456' }];
    const graph = await sandbox({ numbers });
    const register = async (pin: string): Promise<number | undefined> =>
      (await ask(graph, `/v23.0/${NUMBER}/register`, { messaging_product: 'whatsapp', pin })).json.error?.code;
    expect(await codeOf(graph, template('hello'))).toBe(133010);
    expect([await register('12'), await register('654321'), await register('123456')]).toEqual([
      100,
      133005,
      undefined,
    ]);
    expect(await codeOf(graph, template('hello'))).toBe(0);
  });
});

describe('the subscription', () => {
  test('with its own URL is accepted only when the URL responds to the challenge', async () => {
    const graph = await sandbox({ subscribed: false });
    const client = await startServer({
      maxBytes: 1000,
      handle: ({ query }) => ({
        status: 200,
        body: query.get('hub.verify_token') === 'right' ? (query.get('hub.challenge') ?? '') : 'no',
      }),
    });
    onTestFinished(() => client.close());
    const subscribe = (verify_token: string): Promise<Reply> =>
      ask(graph, `/v23.0/${graph.wabaId}/subscribed_apps`, {
        override_callback_uri: `${client.url}/cb?x=1`,
        verify_token,
      });
    expect((await subscribe('wrong')).json.error?.code).toBe(100);
    expect((await ask(graph, `/v23.0/${graph.wabaId}/subscribed_apps`)).json.data).toEqual([]);
    expect((await subscribe('right')).json.success).toBe(true);
    expect((await ask(graph, `/v23.0/${graph.wabaId}/subscribed_apps`)).json.data).toHaveLength(1);
  });

  test('decides whether events are posted to the callback URL', async () => {
    const client = await startServer({ maxBytes: 10_000, handle: () => ({ status: 200, body: '' }) });
    onTestFinished(() => client.close());
    const graph = await sandbox({ subscribed: false, callbackUrl: `${client.url}/cb` });
    const inbound = { from: '351912345678', text: 'Hi' };
    expect(await graph.injectInbound(inbound)).toMatchObject({ acked: false });
    expect((await ask(graph, `/v23.0/${graph.wabaId}/subscribed_apps`, {})).json.success).toBe(true);
    expect(await graph.injectInbound(inbound)).toMatchObject({ acked: true });
    await ask(graph, `/v23.0/${graph.wabaId}/subscribed_apps`, undefined, { method: 'DELETE' });
    expect(await graph.injectInbound(inbound)).toMatchObject({ acked: false });
  });

  test('without a URL loses events and counts them', async () => {
    const graph = await sandbox();
    expect(await graph.injectInbound({ from: '351912345678', text: 'Hi' })).toMatchObject({ acked: false });
    expect(graph.ledger.counts()).toMatchObject({ inbounds: 1, lost: 1, callbacks: 0 });
  });
});

test('with counts only, no entry is kept', async () => {
  const graph = await sandbox({ ledger: 'counts' });
  await send(graph, template('hello'));
  expect(graph.ledger.entries()).toEqual([]);
  expect(graph.ledger.counts().accepted).toBe(1);
});

test('messages of an earlier simulator get their statuses as if they had just been accepted', async () => {
  const graph = await sandbox();
  const owed = { id: 'wamid.OLD', phoneNumberId: NUMBER, to: '351912340002', opaque: null };
  graph.resume([owed]);
  expect(graph.pending()).toBe(1);
});
