import { describe, expect, onTestFinished, test } from 'vitest';
import { type ConformancePeer, carrierConformance } from '../../../test/support/carriers/conformance.ts';
import {
  AGENT,
  connected,
  createTestHost,
  makeCarrier,
  NUMBER,
  QUICK,
  startRbm,
  submission,
  until,
} from '../../../test/support/carriers/rcs-harness.ts';
import type { ErrorName } from '../../sandbox/rbm-script.ts';
import { type SandboxRbm, startSandboxRbm } from '../../sandbox/rbm-server.ts';
import type { RcsContent } from '../carrier.ts';

const REFUSALS: Record<Parameters<ConformancePeer['behave']>[0], ErrorName | null> = {
  accept: null,
  silent: null,
  refuse: 'NOT_FOUND',
  busy: 'RESOURCE_EXHAUSTED',
};

function conforming(rbm: SandboxRbm): ConformancePeer & Pick<SandboxRbm, 'baseUrl' | 'secrets'> {
  return {
    baseUrl: rbm.baseUrl,
    secrets: rbm.secrets,
    cut: rbm.cut,
    close: rbm.close,
    behave(how) {
      rbm.script.refuse = REFUSALS[how];
      rbm.script.silent = how === 'silent';
    },
    // Messages that the network took or rejected: a repeated id is not a message.
    seen: () => rbm.ledger.messages().map(({ destination }) => destination.slice(1)),
  };
}

carrierConformance({
  name: 'Google RBM',
  startPeer: async () => conforming(await startSandboxRbm({ agents: ['ACME'] })),
  makeCarrier: (peer) => makeCarrier(peer, { requestTimeoutSeconds: 1 }),
});

describe('sending', () => {
  test('a text is sent from the agent to the number under our id, with its remaining lifetime', async () => {
    const { rbm, carrier } = await connected();
    const validUntil = new Date(Date.now() + 3_600_000);
    const outcome = await carrier.submit(submission({ validUntil }));
    expect(outcome).toEqual({ kind: 'accepted', carrierIds: ['018f0000-0000-7000-8000-000000000001'] });
    const [entry] = rbm.ledger.messages();
    expect(entry).toMatchObject({ agentId: AGENT, destination: NUMBER, messageId: submission().messageId });
    expect(entry?.message).toEqual({ contentMessage: { text: 'Hello' }, ttl: expect.stringMatching(/^3(600|5\d\d)/) });
  });

  test('a message without a validity lives 15 days, and has the traffic type of the settings', async () => {
    const { rbm, carrier } = await connected({}, { trafficType: 'PROMOTION' });
    await carrier.submit(submission());
    const [entry] = rbm.ledger.messages();
    expect(entry?.message).toMatchObject({ messageTrafficType: 'PROMOTION', ttl: '1296000s' });
  });

  test('a message has its own traffic type rather than that of the settings', async () => {
    const { rbm, carrier } = await connected({ requireTrafficType: true }, { trafficType: 'TRANSACTION' });
    const content = { channel: 'RCS', message: { text: 'Sale' }, trafficType: 'PROMOTION' } as const;
    expect(await carrier.submit(submission({ content }))).toMatchObject({ kind: 'accepted' });
    expect(rbm.ledger.messages()[0]?.message).toMatchObject({ messageTrafficType: 'PROMOTION' });
  });

  test('a message without a traffic type is refused for an agent that needs one', async () => {
    const { carrier } = await connected({ requireTrafficType: true });
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'refused', code: 'INVALID_ARGUMENT' });
  });

  test('a message with less than ten seconds left is expired, and is not sent', async () => {
    const { rbm, carrier } = await connected();
    const validUntil = new Date(Date.now() + 9000);
    expect(await carrier.submit(submission({ validUntil }))).toMatchObject({ kind: 'refused', status: 'EXPIRED' });
    expect(rbm.ledger.messages()).toEqual([]);
  });

  test('rich content is sent unchanged', async () => {
    const { rbm, carrier } = await connected();
    const cardContent = { title: 'Sale', suggestions: [{ reply: { text: 'Buy', postbackData: 'buy' } }] };
    const message = { richCard: { standaloneCard: { cardOrientation: 'VERTICAL', cardContent } } };
    expect(await carrier.submit(submission({ body: '', content: { channel: 'RCS', message } }))).toMatchObject({
      kind: 'accepted',
    });
    expect(rbm.ledger.messages()[0]?.message).toMatchObject({ contentMessage: message });
  });

  test('content of another channel is refused and not sent', async () => {
    const { rbm, carrier } = await connected();
    const content = { channel: 'WHATSAPP', message: { type: 'text' } } as const;
    expect(await carrier.submit(submission({ content }))).toMatchObject({ kind: 'refused', code: 'CONTENT' });
    expect(rbm.ledger.messages()).toEqual([]);
  });
});

describe('answers', () => {
  test.each([
    ['0001', { kind: 'refused', status: 'ERROR', code: 'INVALID_ARGUMENT' }],
    ['0003', { kind: 'refused', status: 'ERROR', elsewhere: true }],
    ['0007', { kind: 'refused', status: 'UNSUPPORTED', elsewhere: false }],
    ['9910', { kind: 'retry', counts: false, code: 'RESOURCE_EXHAUSTED' }],
    ['9911', { kind: 'retry', counts: false, code: 'UNAVAILABLE' }],
    ['9912', { kind: 'retry', counts: true, code: 'INTERNAL' }],
  ])('a number that ends in %s is %o', async (end, outcome) => {
    const { carrier } = await connected();
    expect(await carrier.submit(submission({ destination: `+35191234${end}` }))).toMatchObject(outcome);
  });

  test('a handset that lacks a feature is UNSUPPORTED', async () => {
    const { carrier } = await connected();
    const message = {
      richCard: { carouselCard: { cardWidth: 'SMALL', cardContents: [{ title: 'A' }, { title: 'B' }] } },
    };
    const content: RcsContent = { channel: 'RCS', message };
    const outcome = await carrier.submit(submission({ destination: '+351912349901', content }));
    expect(outcome).toMatchObject({
      kind: 'refused',
      status: 'UNSUPPORTED',
      text: expect.stringContaining('CAROUSEL'),
    });
  });

  test('an agent that the network refuses is logged once', async () => {
    const { carrier, host } = await connected();
    await carrier.submit(submission({ destination: '+351912340003' }));
    await carrier.submit(submission({ destination: '+351912340003', messageId: crypto.randomUUID() }));
    expect(host.logs).toEqual(['error: The network refuses this agent']);
  });
});

describe('doubt', () => {
  test('a message without a response is sent again under its id, and the network accepts it once', async () => {
    const { rbm, carrier } = await connected({}, QUICK);
    const outcome = await carrier.submit(submission({ destination: '+351912349913' }));
    expect(outcome).toMatchObject({ kind: 'accepted', carrierIds: [submission().messageId] });
    expect(rbm.ledger.messages()).toHaveLength(1);
    expect(rbm.ledger.messages()[0]?.repeats).toBeGreaterThan(0);
  });

  test('it is unknown, under its id, after as many repetitions as the settings allow', async () => {
    const { rbm, carrier } = await connected({}, { ...QUICK, resends: 3 });
    const outcome = await carrier.submit(submission({ destination: '+351912349914' }));
    expect(outcome).toMatchObject({ kind: 'unknown', carrierIds: [submission().messageId] });
    expect(rbm.ledger.messages()).toMatchObject([{ repeats: 3 }]);
  });

  test('a cut connection causes doubt too, and one more request resolves it', async () => {
    const { rbm, carrier } = await connected({ cutShare: 1 });
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect(rbm.ledger.messages()).toMatchObject([{ repeats: 1 }]);
  });

  test('while in doubt, "not now" does not return the message', async () => {
    const { rbm, carrier } = await connected({}, { ...QUICK, resends: 1 });
    rbm.script.silent = true;
    const outcome = carrier.submit(submission());
    await until(() => rbm.ledger.messages().length === 1);
    rbm.script.refuse = 'RESOURCE_EXHAUSTED';
    expect(await outcome).toMatchObject({ kind: 'unknown' });
  });

  test('nothing is repeated after the validity', async () => {
    const { rbm, carrier } = await connected({}, { ...QUICK, resends: 10 });
    // Ten seconds before its end, a message is too late.
    const validUntil = new Date(Date.now() + 10_400);
    expect(await carrier.submit(submission({ destination: '+351912349914', validUntil }))).toMatchObject({
      kind: 'unknown',
    });
    expect(rbm.ledger.messages()[0]?.repeats).toBeLessThan(10);
  });
});

describe('the access token', () => {
  test('that is not valid any more is replaced, and the message is sent', async () => {
    const { rbm, carrier } = await connected();
    rbm.revokeTokens();
    const ids = Array.from({ length: 5 }, () => crypto.randomUUID());
    const outcomes = await Promise.all(ids.map((messageId) => carrier.submit(submission({ messageId }))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('accepted'));
    expect(rbm.ledger.counts().tokens).toBe(2);
  });

  test('is replaced before it expires', async () => {
    const { rbm, carrier } = await connected({ tokenSeconds: 0.2 });
    await until(() => rbm.ledger.counts().tokens >= 3);
    expect(carrier.state()).toMatchObject({ up: true, fault: null });
  });

  test('that is refused although it is fresh is a fault for a while, and the message is returned', async () => {
    const { rbm, carrier, host } = await connected();
    rbm.script.refuse = 'UNAUTHENTICATED';
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'retry', counts: false, afterMs: 100 });
    expect(carrier.state()).toMatchObject({ up: false, fault: expect.stringContaining('access token') });
    expect([carrier.room(), host.logs.length]).toEqual([0, 1]);
    rbm.script.refuse = null;
    await until(() => carrier.room() > 0);
    expect(carrier.state().fault).toBeNull();
  });

  test('of a refused service account is a fault until the account is accepted', async () => {
    const rbm = await startRbm();
    const carrier = makeCarrier(rbm, {}, { clientEmail: 'other@heliograph.invalid' });
    onTestFinished(() => carrier.stop(0));
    const host = createTestHost();
    carrier.start(host);
    await until(() => carrier.state().fault !== null);
    expect(carrier.state()).toMatchObject({
      up: false,
      fault: 'The service account was refused: Invalid grant: account not found',
    });
    expect(carrier.room()).toBe(0);
  });

  test('is fetched once the endpoint is reachable', async () => {
    const rbm = await startRbm();
    await rbm.close();
    const carrier = makeCarrier(rbm);
    onTestFinished(() => carrier.stop(0));
    carrier.start(createTestHost());
    await startRbm({}, { port: rbm.port });
    await until(() => carrier.room() > 0);
  });

  test('needs a valid key', async () => {
    const rbm = await startRbm();
    expect(() => makeCarrier(rbm, {}, { privateKey: 'no key' })).toThrow(
      'privateKey: must be an RSA private key in PEM',
    );
  });
});

test('a person sees that a message was read and that a reply is being written', async () => {
  const { carrier } = await connected();
  const sign = { sender: submission().sender, destination: '+351912345678', networkId: 'm1' };
  expect(await carrier.show?.({ ...sign, kind: 'read' })).toBe(true);
  expect(await carrier.show?.({ ...sign, kind: 'typing' })).toBe(true);
  expect(await carrier.show?.({ ...sign, kind: 'read', destination: 'nobody' })).toBe(false);
});

describe('revoking a message', () => {
  test('is true before it is delivered, and no event follows', async () => {
    const { rbm, carrier } = await connected();
    await carrier.submit(submission({ destination: '+351912340004' }));
    expect(await carrier.revoke?.(submission({ destination: '+351912340004' }))).toBe(true);
    expect(rbm.ledger.messages()).toMatchObject([{ revoked: true }]);
  });

  test('is false once it is delivered, and for a message that was never sent', async () => {
    const { rbm, carrier } = await connected({ otherwise: { steps: [{ event: 'DELIVERED', afterMs: 0 }] } });
    await carrier.submit(submission());
    await until(() => rbm.ledger.messages()[0]?.delivered === true);
    expect(await carrier.revoke?.(submission())).toBe(false);
    expect(await carrier.revoke?.(submission({ messageId: crypto.randomUUID() }))).toBe(false);
  });

  test('is inconclusive when the network revoked the message without a response and forgot it', async () => {
    const { rbm, carrier } = await connected(
      { forgetsRevoked: true, dropRevokeShare: 1 },
      { requestTimeoutSeconds: 1 },
    );
    const message = submission({ destination: '+351912340004' });
    await carrier.submit(message);
    const asked = carrier.revoke?.(message);
    await until(() => rbm.ledger.messages()[0]?.revoked === true);
    rbm.script.dropRevokeShare = 0;
    expect(await asked).toBeNull();
    expect(await carrier.revoke?.(message)).toBe(false);
  });

  test('is neither while the network does not respond', async () => {
    const { rbm, carrier } = await connected();
    await rbm.close();
    expect(await carrier.revoke?.(submission())).toBeNull();
  });
});

describe('reachable numbers', () => {
  const few = [NUMBER, '+351912340007', NUMBER];

  test('few are asked for one by one, and remembered', async () => {
    const { rbm, carrier } = await connected();
    const found = await carrier.findReachable?.(AGENT, few);
    expect(found).toEqual(
      new Map([
        [NUMBER, true],
        ['+351912340007', false],
      ]),
    );
    expect(await carrier.findReachable?.(AGENT, few)).toEqual(found);
    expect(rbm.ledger.counts()).toMatchObject({ capabilityChecks: 2, batchChecks: 0 });
  });

  test('many are asked for in batches of up to 10,000', async () => {
    const { rbm, carrier } = await connected();
    const many = Array.from({ length: 10_001 }, (_, index) => `+35191${String(index).padStart(7, '0')}`);
    const found = await carrier.findReachable?.(AGENT, many);
    expect(found?.size).toBe(10_001);
    expect([...(found ?? [])].filter(([, reachable]) => !reachable)).toEqual([['+351910000007', false]]);
    expect(rbm.ledger.counts()).toMatchObject({ capabilityChecks: 0, batchChecks: 2 });
  });

  test('addresses without a response are omitted', async () => {
    const { rbm, carrier } = await connected();
    await rbm.close();
    expect(await carrier.findReachable?.(AGENT, few)).toEqual(new Map());
  });

  test('an agent that may not write to a number says nothing of it', async () => {
    const { carrier } = await connected({ unlaunched: [AGENT] });
    expect(await carrier.findReachable?.(AGENT, few)).toEqual(new Map());
  });

  test('a message that was refused as not reachable is remembered as well', async () => {
    const { rbm, carrier } = await connected();
    await carrier.submit(submission({ destination: '+351912340007' }));
    expect(await carrier.findReachable?.(AGENT, ['+351912340007'])).toEqual(new Map([['+351912340007', false]]));
    expect(rbm.ledger.counts().capabilityChecks).toBe(0);
  });
});
