import { describe, expect, onTestFinished, test } from 'vitest';
import { type ConformancePeer, carrierConformance } from '../../../test/support/carriers/conformance.ts';
import { createTestHost, submission, until } from '../../../test/support/carriers/smpp-harness.ts';
import {
  bound,
  carrierFacing,
  FAST,
  sandbox,
  secretsFor,
  settingsFor,
  TEMPLATES,
  THERE,
  templateTo,
} from '../../../test/support/carriers/whatsapp-harness.ts';
import { type SandboxGraph, startSandboxGraph } from '../../sandbox/graph-server.ts';
import { type SandboxAnswer, startServer } from '../../sandbox/http-server.ts';
import { createWhatsappCarrier } from './carrier.ts';

const NUMBER = '100000000000001';

type Peer = ConformancePeer & { readonly graph: SandboxGraph };

async function startPeer(): Promise<Peer> {
  const graph = await startSandboxGraph({ script: { tps: 0, windowMs: 0 }, templates: TEMPLATES });
  return {
    graph,
    behave(how) {
      graph.script.silent = how === 'silent';
      graph.script.refuse = how === 'refuse' ? 131026 : how === 'busy' ? 130429 : null;
    },
    seen: () => graph.ledger.messages().map(({ to }) => to),
    cut: graph.cut,
    close: graph.close,
  };
}

carrierConformance({
  name: 'WhatsApp with the sandbox Graph API at the other end',
  startPeer,
  makeCarrier({ graph }) {
    const settings = settingsFor(graph, { submitTimeoutSeconds: 1 });
    const carrier = createWhatsappCarrier(settings, secretsFor(graph), FAST);
    return { ...carrier, submit: (one) => carrier.submit({ ...one, sender: NUMBER }) };
  },
});

test('marketing goes to its own edge where the connection uses it, and everything else to messages', async () => {
  const paths: string[] = [];
  const server = await startServer({
    maxBytes: 10_000,
    handle({ method, path }) {
      if (method === 'GET') return THERE;
      paths.push(path.split('/').at(-1) ?? '');
      return { status: 200, body: { messages: [{ id: 'wamid.1' }] } };
    },
  });
  onTestFinished(() => server.close());
  for (const marketingApi of [true, false]) {
    const { carrier } = await bound({}, { baseUrl: server.url, marketingApi });
    const message = { type: 'template', template: { name: 'hello', language: { code: 'en_US' } } };
    const content = { channel: 'WHATSAPP', message } as const;
    for (const one of [{ ...content, marketing: true as const }, content])
      expect(await carrier.submit(templateTo('+16505551234', { content: one }))).toMatchObject({ kind: 'accepted' });
  }
  expect(paths).toEqual(['marketing_messages', 'messages', 'messages', 'messages']);
});

describe('a message', () => {
  test('is sent with its content, to the number with its plus sign, under our id', async () => {
    const { graph, carrier } = await bound();
    const outcome = await carrier.submit(templateTo('+351912345678'));
    const [entry] = graph.ledger.messages();
    expect(outcome).toEqual({ kind: 'accepted', carrierIds: [entry?.id] });
    expect(entry).toMatchObject({ phoneNumberId: NUMBER, to: '351912345678', type: 'template', code: 0 });
    expect(entry?.opaque).toBe('018f0000-0000-7000-8000-000000000001');
    expect(entry?.content).toEqual({ name: 'hello', language: { code: 'en_US' } });
  });

  test('that the network holds back for a quality assessment is marked as held', async () => {
    const { carrier } = await bound();
    const outcome = await carrier.submit(templateTo('+351912349913'));
    expect(outcome).toMatchObject({ kind: 'accepted', held: 'held_for_quality_assessment' });
  });

  test.each([
    ['by another number', '351912340001', ['+351912340009']],
    ['by another form of the number, which we know', '5215512340002', undefined],
  ])('to a person whom the network knows %s says so', async (_, waId, aliases) => {
    const { graph, carrier } = await bound();
    graph.script.outcomes = { '0001': { waId: '351912340009' }, '0002': { waId: '525512340002' } };
    const outcome = await carrier.submit(templateTo(`+${waId}`));
    expect(outcome).toEqual({ kind: 'accepted', carrierIds: [expect.any(String)], ...(aliases && { aliases }) });
  });

  test('without content is sent as its text', async () => {
    const { graph, carrier } = await bound();
    await carrier.submit(submission({ sender: NUMBER, body: 'Olá' }));
    expect(graph.ledger.messages()[0]?.content).toEqual({ body: 'Olá', preview_url: false });
  });

  test('cannot override the addresses', async () => {
    const { graph, carrier } = await bound();
    const message = { type: 'text', text: { body: 'Hi' }, to: '+1999', biz_opaque_callback_data: 'x' };
    await carrier.submit(submission({ sender: NUMBER, content: { channel: 'WHATSAPP', message } }));
    expect(graph.ledger.messages()[0]).toMatchObject({
      to: '351912345678',
      opaque: '018f0000-0000-7000-8000-000000000001',
    });
  });

  test('to a person without a number is sent to the user id', async () => {
    const { graph, carrier } = await bound();
    expect(await carrier.submit(templateTo('US.13491208655302741918'))).toMatchObject({ kind: 'accepted' });
    expect(graph.ledger.messages()[0]?.to).toBe('US.13491208655302741918');
  });

  test.each([
    ['of another number', { sender: '42' }],
    ['of another channel', { content: { channel: 'RCS', message: { text: 'x' } } as const }],
    ['in bytes', { binary: { udh: new Uint8Array(), data: new Uint8Array([1]) } }],
  ])('%s is refused and does not reach the network', async (_, more) => {
    const { graph, carrier } = await bound();
    const outcome = await carrier.submit(submission({ sender: NUMBER, ...more }));
    expect(outcome).toMatchObject({ kind: 'refused', status: 'ERROR', code: 'NOT_SENDABLE', carrierIds: [] });
    expect(graph.ledger.messages()).toEqual([]);
  });
});

test('a person sees that a message was read and that a reply is being written, as far as the network takes it', async () => {
  const { carrier } = await bound();
  const sign = { kind: 'typing', sender: NUMBER, destination: '+351912345678', networkId: 'wamid.IN' } as const;
  expect(await carrier.show?.(sign)).toBe(true);
  expect(await carrier.show?.({ ...sign, kind: 'read' })).toBe(true);
  expect(await carrier.show?.({ ...sign, networkId: 'unknown' })).toBe(false);
});

describe('an error of the network', () => {
  test.each([
    ['is permanent when it concerns the person', 131026, { kind: 'refused', status: 'UNSUPPORTED', elsewhere: false }],
    ['is a closed conversation after 24 hours', 131047, { kind: 'refused', status: 'CONVERSATION_CLOSED' }],
    ['is a person who wants no marketing', 131050, { kind: 'refused', status: 'ERROR' }],
    ['is permanent when it concerns the template', 132000, { kind: 'refused', status: 'ERROR', elsewhere: false }],
    ['blames the account when it concerns the account', 131031, { kind: 'refused', status: 'ERROR', elsewhere: true }],
    ['returns the message when the rate is exceeded', 130429, { kind: 'retry', counts: false, code: '130429' }],
    ['returns the message when the account calls too often', 80007, { kind: 'retry', counts: false }],
    ['returns the message when the service is unavailable', 131016, { kind: 'retry', counts: true }],
    ['holds the message when a permission is missing', 200, { kind: 'retry', counts: true }],
    ['that is unknown goes by the HTTP status', 999_999, { kind: 'refused', status: 'ERROR', code: '999999' }],
  ])('%s: %i', async (_, code, expected) => {
    const { graph, carrier } = await bound({ script: { refuse: code } });
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject(expected);
    expect(graph.ledger.answers()).toEqual({ [code]: 1 });
  });

  test('without a known reason is repeated twice, and then is permanent', async () => {
    const { graph, carrier } = await bound({ script: { refuse: 131000 } });
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'refused', code: '131000' });
    expect(graph.ledger.answers()).toEqual({ 131000: 3 });
  });

  test('that ends before the second repetition does no harm', async () => {
    const { carrier } = await bound();
    expect(await carrier.submit(templateTo('+351912349914'))).toMatchObject({ kind: 'accepted' });
  });

  test('of the pair pauses longer each time, for that person only', async () => {
    const { carrier } = await bound({ script: { outcomes: { 5678: { refuse: 131056, refuseTimes: 3 } } } });
    const delays: unknown[] = [];
    for (let n = 0; n < 4; n += 1) {
      const outcome = await carrier.submit(templateTo('+351912345678'));
      delays.push(outcome.kind === 'retry' ? outcome.afterMs : outcome.kind);
      expect(await carrier.submit(templateTo('+351912345679'))).toMatchObject({ kind: 'accepted' });
    }
    expect(delays).toEqual([1000, 4000, 16_000, 'accepted']);
  });

  test('of one number pauses that number and no other', async () => {
    const numbers = [NUMBER, '100000000000002'].map((id) => ({ id, displayNumber: `+351 ${id}`, verifiedName: 'X' }));
    const outcomes = { 1111: { refuse: 130429 } };
    const { graph, carrier } = await bound({ numbers, script: { outcomes } }, { throttlePauseMs: 30_000 });
    expect(await carrier.submit(templateTo('+351912341111'))).toMatchObject({ kind: 'retry', code: '130429' });
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'retry', code: 'PAUSED' });
    const other = { sender: '100000000000002' };
    expect(await carrier.submit(templateTo('+351912345678', other))).toMatchObject({ kind: 'accepted' });
    expect(carrier.room()).toBeGreaterThan(0);
    expect(graph.ledger.messages()).toHaveLength(2);
  });
});

describe('the state', () => {
  test('has a fault while a number needs a person, and none once it can send again', async () => {
    const { graph, carrier, host } = await bound({ script: { refuse: 131042 } });
    await carrier.submit(templateTo('+351912345678'));
    expect(carrier.state()).toMatchObject({ bindsUp: 0, bindsWanted: 1, fault: expect.stringContaining('131042') });
    expect(host.logs).toContainEqual(expect.stringContaining('refuses this number'));
    graph.script.refuse = null;
    await until(() => carrier.room() > 0);
    await carrier.submit(templateTo('+351912345678'));
    expect(carrier.state()).toMatchObject({ bindsUp: 1, fault: null });
  });

  test('has a fault from the start when the token is wrong, and the carrier is not up', async () => {
    const graph = await sandbox();
    const carrier = createWhatsappCarrier(settingsFor(graph), secretsFor(graph, { accessToken: 'wrong' }), FAST);
    onTestFinished(() => carrier.stop(0));
    carrier.start(createTestHost());
    await until(() => carrier.state().fault !== null);
    expect(carrier.state()).toMatchObject({ up: false, bindsUp: 0 });
    expect(carrier.room()).toBe(0);
  });

  test('is up when the app requires the app secret, because every call proves it', async () => {
    const { carrier } = await bound({ script: { requireProof: true } });
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'accepted' });
  });

  test('has a fault that names the app secret when it is that of another app, and no message is lost', async () => {
    const graph = await sandbox({ script: { requireProof: true } });
    const carrier = createWhatsappCarrier(settingsFor(graph), secretsFor(graph, { appSecret: 'other' }), FAST);
    onTestFinished(() => carrier.stop(0));
    carrier.start(createTestHost());
    await until(() => carrier.state().fault !== null);
    expect(carrier.state().fault).toContain('The app secret of the connection is not that of the app that issued');
    expect(carrier.room()).toBe(0);
    const outcome = await carrier.submit(templateTo('+351912345678'));
    expect(outcome).toMatchObject({ kind: 'retry', counts: false });
  });

  test('has a fault when the token expires, which loses no message and clears when the token is valid again', async () => {
    const { graph, carrier } = await bound({ script: { refuse: 190 } });
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'retry', counts: false });
    expect(carrier.room()).toBe(0);
    expect(carrier.state().fault).not.toBeNull();
    graph.script.refuse = null;
    await until(() => carrier.room() > 0);
    expect(carrier.state().fault).toBeNull();
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'accepted' });
  });
});

describe('a response that is not from the API', () => {
  test.each<[string, SandboxAnswer, object]>([
    ['5xx: the carrier may have the message', { status: 502, body: '<html>' }, { kind: 'unknown' }],
    ['a success without an id: the same', { status: 200, body: { messages: [] } }, { kind: 'unknown' }],
    ['a success that is no JSON: the same', { status: 200, body: 'OK' }, { kind: 'unknown' }],
    ['a cut: the same', 'cut', { kind: 'unknown' }],
    ['429: later, with a pause', { status: 429, body: '' }, { kind: 'retry', counts: false }],
    [
      'a redirect, which is not followed: held',
      { status: 302, body: '', headers: { location: '/' } },
      { kind: 'retry' },
    ],
    ['404: refused', { status: 404, body: 'no' }, { kind: 'refused', status: 'ERROR', code: 'HTTP_404' }],
  ])('%s', async (_, answer, expected) => {
    const carrier = await carrierFacing(() => answer);
    expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject(expected);
  });

  test('pauses the number for as long as it says', async () => {
    const carrier = await carrierFacing(() => ({ status: 429, body: '', headers: { 'retry-after': '20' } }));
    const outcome = await carrier.submit(templateTo('+351912345678'));
    expect(outcome.kind === 'retry' && outcome.afterMs).toBeGreaterThan(19_000);
  });
});

test('messages that fail one after another lead to a single probe of the API', async () => {
  let [looks, messages] = [0, 0];
  const [look, later] = [Promise.withResolvers<SandboxAnswer>(), Promise.withResolvers<SandboxAnswer>()];
  const carrier = await carrierFacing(
    () => (++messages === 1 ? 'cut' : later.promise),
    () => (++looks === 1 ? THERE : look.promise),
  );
  const outcomes = [1, 2, 3].map((n) => carrier.submit(templateTo(`+35191234567${n}`)));
  await until(() => looks > 1 && messages === 3);
  later.resolve('cut');
  await Promise.all(outcomes);
  expect(carrier.room()).toBe(0);
  look.resolve(THERE);
  await until(() => carrier.room() > 0);
  expect(looks).toBe(2);
});

test('a message that could not be written is returned, and nothing is sent while the network is unreachable', async () => {
  const { graph, carrier } = await bound();
  await graph.close();
  const outcomes = await Promise.all([1, 2, 3].map((n) => carrier.submit(templateTo(`+35191234567${n}`))));
  expect(outcomes.map(({ kind }) => kind)).not.toContain('accepted');
  await until(() => carrier.room() === 0);
  expect(carrier.state().up).toBe(false);
});

test('a message without a response is unknown under our id, which the network repeats in its statuses', async () => {
  const { carrier } = await bound({ script: { silent: true } }, { submitTimeoutSeconds: 0.1 });
  expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({
    kind: 'unknown',
    carrierIds: ['018f0000-0000-7000-8000-000000000001'],
  });
});

test('messages from a number keep its rate', async () => {
  const { carrier } = await bound({}, { tps: 40 });
  const since = performance.now();
  await Promise.all(Array.from({ length: 20 }, () => carrier.submit(templateTo('+351912345678'))));
  // The burst is 10 messages; the other 10 take a quarter of a second.
  expect(performance.now() - since).toBeGreaterThanOrEqual(200);
});

test('a message that waits for its turn when the carrier stops has not been sent', async () => {
  const { graph, carrier } = await bound({}, { tps: 1 });
  const [first, second] = [carrier.submit(templateTo('+351912345671')), carrier.submit(templateTo('+351912345672'))];
  await first;
  await carrier.stop(5000);
  expect(await second).toMatchObject({ kind: 'retry', counts: false });
  expect(graph.ledger.messages().map(({ to }) => to)).toEqual(['351912345671']);
});
