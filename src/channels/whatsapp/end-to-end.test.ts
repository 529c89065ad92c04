import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/support/carriers/smpp-harness.ts';
import { bound, templateTo } from '../../../test/support/carriers/whatsapp-harness.ts';
import type { SandboxGraph } from '../../sandbox/graph-server.ts';
import { type SandboxServer, startServer } from '../../sandbox/http-server.ts';
import { readWhatsappCallback, readWhatsappChanges, verifyChallenge, type WhatsappCallback } from './callbacks.ts';

type Receiver = {
  readonly server: SandboxServer;
  readonly callbacks: WhatsappCallback[];
  /** Status of its responses from now on. */
  status: number;
  /** Requests that were not signed, and those that got another status than 200. */
  forbidden: number;
  refused: number;
};

/** An address for callbacks as the gateway has one. */
async function receiver(graph: SandboxGraph): Promise<Receiver> {
  const callbacks: WhatsappCallback[] = [];
  const owner = { wabaId: graph.wabaId, phoneNumberIds: graph.numbers.map(({ id }) => id) };
  const server = await startServer({
    maxBytes: 1 << 20,
    handle({ method, query, headers, body }) {
      if (method === 'GET') return { status: 200, body: verifyChallenge(Object.fromEntries(query), 'verify-me') ?? '' };
      const signature = headers['x-hub-signature-256'];
      const result = readWhatsappCallback({
        rawBody: body,
        signature: typeof signature === 'string' ? signature : undefined,
        appSecret: 'sandbox-secret',
      });
      if (result.kind !== 'ok') state.forbidden += 1;
      else if (state.status === 200) callbacks.push(readWhatsappChanges(result.changes, owner));
      else state.refused += 1;
      return { status: result.kind === 'ok' ? state.status : 401, body: '' };
    },
  });
  onTestFinished(() => server.close());
  const state: Receiver = { server, callbacks, status: 200, forbidden: 0, refused: 0 };
  graph.setCallback(server.url);
  return state;
}

const QUICK = {
  outcomes: {
    1111: {
      steps: [
        { status: 'sent', afterMs: 5 },
        { status: 'delivered', afterMs: 10 },
        { status: 'read', afterMs: 15 },
      ],
    },
    2222: { steps: [{ status: 'failed', afterMs: 10, code: 131026 }] },
    3333: { steps: [{ status: 'sent', afterMs: 5 }], early: true },
    4444: { steps: [{ status: 'delivered', afterMs: 5 }], doubled: true },
  },
  otherwise: { steps: [{ status: 'delivered', afterMs: 5 }] },
  reorderMs: 10,
} as const;

const statesOf = ({ callbacks }: Receiver, id: string): string[] =>
  callbacks.flatMap(({ receipts }) => receipts.filter((one) => one.carrierIds.includes(id)).map(({ state }) => state));

describe('the result of a message', () => {
  test.each([
    ['+351912341111', ['ACCEPTED', 'DELIVERED', 'READ']],
    ['+351912342222', ['UNSUPPORTED']],
    ['+351912343333', ['ACCEPTED']],
    ['+351912344444', ['DELIVERED', 'DELIVERED']],
  ])('is reported by signed callbacks: %s %j', async (destination, states) => {
    const { graph, carrier } = await bound({ script: QUICK });
    const gateway = await receiver(graph);
    const outcome = await carrier.submit(templateTo(destination));
    const [id = ''] = outcome.kind === 'accepted' ? outcome.carrierIds : [];
    await until(() => statesOf(gateway, id).length === states.length);
    expect(statesOf(gateway, id)).toEqual(states);
    expect(gateway.forbidden).toBe(0);
  });

  test('is reported under our id when the submit had no response', async () => {
    const { graph, carrier } = await bound({ script: { ...QUICK, silent: true } }, { submitTimeoutSeconds: 0.1 });
    const gateway = await receiver(graph);
    const outcome = await carrier.submit(templateTo('+351912345678'));
    const [ours = ''] = outcome.kind === 'unknown' ? outcome.carrierIds : [];
    await until(() => statesOf(gateway, ours).includes('DELIVERED'));
  });

  test('is reported again until it is acknowledged', async () => {
    const { graph, carrier } = await bound({ script: QUICK });
    const gateway = await receiver(graph);
    gateway.status = 503;
    await carrier.submit(templateTo('+351912345678'));
    await until(() => gateway.refused > 1);
    gateway.status = 200;
    await until(() => gateway.callbacks.length === 1);
    await until(() => graph.ledger.counts().acked === 1);
    expect(graph.ledger.events()).toMatchObject([{ kind: 'status', what: 'delivered', result: 'acked' }]);
  });

  test('is reported for each of many messages, even when duplicated and out of order', async () => {
    const script = { ...QUICK, doubleStatusShare: 0.2, reorderStatusShare: 0.2 };
    const { graph, carrier } = await bound({ script });
    const gateway = await receiver(graph);
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (_, n) => carrier.submit(templateTo(`+3519123400${String(n).padStart(2, '0')}`))),
    );
    const ids = outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.carrierIds : []));
    expect(new Set(ids).size).toBe(50);
    await until(() => ids.every((id) => statesOf(gateway, id).includes('DELIVERED')));
    await until(() => graph.pending() === 0);
    expect(graph.ledger.counts()).toMatchObject({ accepted: 50, lost: 0 });
    expect(graph.ledger.counts().statuses).toBeGreaterThan(50);
  });
});

test('the callback URL is accepted only when it responds to the challenge', async () => {
  const { graph } = await bound();
  const gateway = await receiver(graph);
  expect(await graph.verifyCallback(gateway.server.url, 'verify-me')).toBe(true);
  expect(await graph.verifyCallback(gateway.server.url, 'wrong')).toBe(false);
});

test("a person's message opens the window for free text", async () => {
  const { graph, carrier } = await bound({ script: QUICK });
  const gateway = await receiver(graph);
  const reply = templateTo('+351912345678', {
    content: { channel: 'WHATSAPP', message: { type: 'text', text: { body: 'Hello' } } },
  });
  const closed = await carrier.submit(reply);
  expect(await graph.injectInbound({ from: '+351912345678', text: 'Hi' })).toMatchObject({ acked: true });
  const open = await carrier.submit(reply);
  const [first = '', second = ''] = [closed, open].flatMap((o) => (o.kind === 'accepted' ? o.carrierIds : []));
  await until(() => statesOf(gateway, first).length + statesOf(gateway, second).length === 2);
  expect([statesOf(gateway, first), statesOf(gateway, second)]).toEqual([['CONVERSATION_CLOSED'], ['DELIVERED']]);
  expect(gateway.callbacks[0]?.inbounds).toMatchObject([{ source: '351912345678', text: 'Hi' }]);
});

test('people without numbers are known by their user ids, in responses, statuses and messages', async () => {
  const { graph, carrier } = await bound({ script: { ...QUICK, payload: 'bsuid' } });
  const gateway = await receiver(graph);
  await graph.injectInbound({ from: '351912345678', text: 'Hi' });
  expect(gateway.callbacks[0]?.inbounds[0]?.source).toMatch(/^[A-Z]{2}\.\d+$/);
  await carrier.submit(templateTo('+351912345678'));
  await until(() => gateway.callbacks.length === 2);
  expect(gateway.callbacks[1]?.receipts[0]?.destination).toMatch(/^[A-Z]{2}\.\d+$/);
});

test('an older version of the API also reports the conversation, and the receipt keeps it', async () => {
  const { graph, carrier } = await bound({ script: { ...QUICK, payload: 'conversation' } });
  const gateway = await receiver(graph);
  await carrier.submit(templateTo('+351912343333'));
  await until(() => gateway.callbacks.length === 1);
  expect(JSON.parse(gateway.callbacks[0]?.receipts[0]?.raw ?? '')).toMatchObject({
    conversation: { origin: { type: 'marketing' } },
    pricing: { pricing_model: 'PMP', category: 'marketing' },
  });
});

test('a paused template is reported, and refused from then on', async () => {
  const { graph, carrier } = await bound({ script: QUICK });
  const gateway = await receiver(graph);
  const hello = graph.templates.all().find(({ name }) => name === 'hello');
  graph.templates.move(hello?.id ?? '', 'PAUSED', { title: 'FIRST_PAUSE' });
  await until(() => gateway.callbacks.length === 1);
  expect(gateway.callbacks[0]?.templateChanges).toMatchObject([
    { templateId: hello?.id, name: 'hello', status: 'PAUSED', reason: expect.stringContaining('FIRST_PAUSE') },
  ]);
  expect(await carrier.submit(templateTo('+351912345678'))).toMatchObject({ kind: 'refused', code: '132015' });
});
