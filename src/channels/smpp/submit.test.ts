import { describe, expect, test } from 'vitest';
import { bound, kinds, submission, submitMany, until } from '../../../test/support/carriers/smpp-harness.ts';
import { accept, refuse, type Script } from '../../../test/support/carriers/smpp-scripted-peer.ts';
import type { Pdu } from '../../smpp/pdu.ts';
import type { Answer } from '../../smpp/session.ts';
import { STATUS } from '../../smpp/status.ts';
import { createPool, sendParts } from './carrier.ts';

const LONG = 'x'.repeat(400);
const PDU: Pdu = { command: 'enquire_link', status: 0, sequence: 1 };
const onSubmit = (answer: (pdu: Pdu, nth: number) => Pdu | null): Script =>
  (() => {
    let nth = 0;
    return (pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      nth += 1;
      const response = answer(pdu, nth);
      if (response) link.send(response);
      return true;
    };
  })();

describe('one part', () => {
  test('an accepted message has the id exactly as the carrier spelled it', async () => {
    const { carrier, peer } = await bound(onSubmit((pdu) => accept(pdu, '00aF')));
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: ['00aF'] });
    expect(peer.submits()).toMatchObject([
      { source: 'ACME', sourceTon: 5, destination: '351912345678', destTon: 1, registeredDelivery: 1, validity: '' },
    ]);
  });

  test.each([
    [STATUS.ESME_RINVDSTADR, 'UNDELIVERABLE', 'ESME_RINVDSTADR'],
    [STATUS.ESME_RINVSRCADR, 'REJECTED', 'ESME_RINVSRCADR'],
    [0x4a1, 'REJECTED', '0x000004A1'],
  ])('status %i is a permanent refusal', async (status, refusal, code) => {
    const { carrier, peer } = await bound(onSubmit((pdu) => refuse(pdu, status)));
    const outcome = await carrier.submit(submission());
    expect(outcome).toMatchObject({ kind: 'refused', status: refusal, code, carrierIds: [] });
    expect(peer.submits()).toHaveLength(1);
  });

  test('a temporary error returns the message for later and pauses nothing', async () => {
    const { carrier } = await bound(onSubmit((pdu) => refuse(pdu, STATUS.ESME_RSYSERR)));
    const outcome = await carrier.submit(submission());
    expect(outcome).toMatchObject({ kind: 'retry', afterMs: 5000, code: 'ESME_RSYSERR' });
    expect(carrier.room()).toBe(10);
  });

  test.each([STATUS.ESME_RTHROTTLED, STATUS.ESME_RMSGQFUL])(
    'throttling (status %i) pauses every bind, and the host hears when the pause is over',
    async (status) => {
      const script = onSubmit((pdu, nth) => (nth === 1 ? refuse(pdu, status) : accept(pdu, 'a')));
      const { carrier, host } = await bound(script, { throttlePauseMs: 60, binds: 2 });
      await until(() => carrier.room() === 20);
      const outcome = await carrier.submit(submission());
      expect(outcome).toMatchObject({ kind: 'retry' });
      expect(carrier.room()).toBe(0);
      const before = host.changes;
      await until(() => host.changes > before);
      expect(carrier.room()).toBe(20);
      expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
    },
  );

  test('pauses get longer while throttling lasts, and short again after a success', async () => {
    const throttled = [1, 2, 4];
    const script = onSubmit((pdu, nth) =>
      throttled.includes(nth) ? refuse(pdu, STATUS.ESME_RTHROTTLED) : accept(pdu, 'a'),
    );
    const { carrier } = await bound(script, { throttlePauseMs: 40 });
    const pauses: number[] = [];
    for (let nth = 1; nth <= 4; nth += 1) {
      const outcome = await carrier.submit(submission());
      pauses.push(outcome.kind === 'retry' ? Math.ceil(outcome.afterMs / 40) : 0);
      await until(() => carrier.room() > 0);
    }
    expect(pauses).toEqual([1, 2, 0, 1]);
  });

  test('a bind that the carrier has forgotten is replaced, and the message is returned', async () => {
    const script = onSubmit((pdu, nth) => (nth === 1 ? refuse(pdu, STATUS.ESME_RINVBNDSTS) : accept(pdu, 'a')));
    const { carrier, peer } = await bound(script);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'retry', code: 'ESME_RINVBNDSTS' });
    await until(() => peer.links.length === 2 && carrier.room() > 0);
    expect(peer.links[0]?.received.at(-1)?.command).toBe('unbind');
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
  });

  test('a generic_nack completes the request that has its sequence number', async () => {
    const nack = (pdu: Pdu): Pdu => ({ command: 'generic_nack', status: STATUS.ESME_RSYSERR, sequence: pdu.sequence });
    const { carrier } = await bound(onSubmit(nack));
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'retry', code: 'ESME_RSYSERR' });
  });

  test('a message without a response in time is unknown, and a late response is harmless', async () => {
    const late: Pdu[] = [];
    const { carrier, peer } = await bound(
      onSubmit((pdu, nth) => {
        if (nth > 1) return accept(pdu, 'second');
        late.push(pdu);
        return null;
      }),
      { submitTimeoutSeconds: 0.1 },
    );
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'unknown', carrierIds: [] });
    const [first] = late;
    if (first) peer.links[0]?.send(accept(first, 'first'));
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: ['second'] });
    expect(peer.links).toHaveLength(1);
  });

  test('a response with the right number and the wrong command does not count', async () => {
    const { carrier } = await bound((pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      link.send({ command: 'enquire_link_resp', status: 0, sequence: pdu.sequence });
      link.send(accept(pdu, 'real'));
      return true;
    });
    expect(await carrier.submit(submission())).toEqual({ kind: 'accepted', carrierIds: ['real'] });
  });

  test('a message whose validity has ended is refused, and nothing is written', async () => {
    const { carrier, peer } = await bound();
    const outcome = await carrier.submit(submission({ validUntil: new Date(Date.now() - 1) }));
    expect(outcome).toMatchObject({ kind: 'refused', status: 'EXPIRED' });
    await carrier.submit(submission());
    expect(peer.submits()).toHaveLength(1);
  });

  test('a message that SMPP cannot carry is refused, and nothing is written', async () => {
    const { carrier, peer } = await bound();
    const outcome = await carrier.submit(submission({ destination: `+${'1'.repeat(30)}` }));
    expect(outcome).toMatchObject({ kind: 'refused', status: 'REJECTED', code: 'NOT_ENCODABLE' });
    expect(peer.submits()).toHaveLength(0);
  });
});

describe('a lost connection', () => {
  test('cut with 40 of 50 unanswered: 10 accepted, 40 unknown, none unreported', async () => {
    let seen = 0;
    const { carrier } = await bound(
      (pdu, link) => {
        if (pdu.command !== 'submit_sm') return false;
        seen += 1;
        if (seen <= 10) link.send(accept(pdu, `id-${seen}`));
        if (seen === 50) setImmediate(() => link.cut());
        return true;
      },
      { window: 50 },
    );
    const outcomes = await Promise.all(submitMany(carrier, 50));
    expect(kinds(outcomes)).toEqual({ accepted: 10, unknown: 40 });
  });

  test('a message that no bind can take is returned as not sent', async () => {
    const { carrier, peer } = await bound();
    await peer.close();
    await until(() => carrier.room() === 0);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'retry', afterMs: 0 });
  });

  test('no room is offered while the carrier does not read', async () => {
    const { carrier, peer } = await bound(() => false, { window: 10_000, longMode: 'payload' });
    peer.links[0]?.pause(true);
    const body = '\u0416'.repeat(30_000);
    const open: ReturnType<typeof carrier.submit>[] = [];
    while (carrier.room() > 0 && open.length < 2000) {
      open.push(carrier.submit(submission({ body })));
      await new Promise(setImmediate);
    }
    expect(carrier.room()).toBe(0);
    peer.links[0]?.pause(false);
    expect(kinds(await Promise.all(open))).toEqual({ accepted: open.length });
    expect(carrier.room()).toBe(10_000);
  });

  test('a whole window without a response restarts the bind', async () => {
    const { carrier, peer } = await bound(
      onSubmit(() => null),
      { window: 3, submitTimeoutSeconds: 0.1 },
    );
    const outcomes = await Promise.all(submitMany(carrier, 3));
    expect(kinds(outcomes)).toEqual({ unknown: 3 });
    await until(() => peer.links.length === 2);
  });

  test('a carrier that responds only to enquiries is taken down, reported, and tried with one message until it responds', async () => {
    const settings = { window: 5, maxSubmitTimeouts: 2, submitTimeoutSeconds: 0.3, enquireSeconds: 0.05 };
    const { carrier, peer, host } = await bound(({ command }) => command === 'submit_sm', settings);
    await until(() => peer.links[0]?.received.some(({ command }) => command === 'enquire_link') === true);
    const outcomes = submitMany(carrier, 2);
    await until(() => !carrier.state().up);
    expect(carrier.room()).toBe(0);
    expect(kinds(await Promise.all(outcomes))).toEqual({ unknown: 2 });
    expect(host.failures).toContain('the carrier does not respond to submits');
    expect(host.logs).toContain('error: SMPP bind responds to no submits');

    await until(() => carrier.room() > 0);
    expect([carrier.room(), carrier.state()]).toMatchObject([1, { up: true, allLinksUp: false }]);
    const [again] = submitMany(carrier, 1);
    await until(() => !carrier.state().up);
    expect(await again).toMatchObject({ kind: 'unknown' });

    peer.script = () => false;
    await until(() => carrier.room() > 0);
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'accepted' });
    expect([carrier.room(), carrier.state()]).toMatchObject([5, { up: true, allLinksUp: true }]);
  });

  test('a submit that gets a response in between starts the count again', async () => {
    let count = 0;
    const settings = { maxSubmitTimeouts: 2, submitTimeoutSeconds: 0.3 };
    const { carrier, peer } = await bound(({ command }) => command === 'submit_sm' && ++count % 2 === 1, settings);
    for (let i = 0; i < 6; i++) await carrier.submit(submission());
    expect([carrier.state().up, peer.links.length]).toEqual([true, 1]);
  });
});

describe('several parts', () => {
  test('parts are sent one after another, and the ids are in part order', async () => {
    const { carrier, peer } = await bound(onSubmit((pdu, nth) => accept(pdu, `part-${nth}`)));
    expect(await carrier.submit(submission({ body: LONG }))).toEqual({
      kind: 'accepted',
      carrierIds: ['part-1', 'part-2', 'part-3'],
    });
    const headers = peer.submits().map((pdu) => Buffer.from(pdu.shortMessage.subarray(0, 6)).toString('hex'));
    const ref = headers[0]?.slice(6, 8);
    expect(headers).toEqual([1, 2, 3].map((seq) => `050003${ref}030${seq}`));
  });

  test('a message takes one slot of the window, however many parts it has', async () => {
    const { carrier, peer } = await bound(
      onSubmit(() => null),
      { window: 2 },
    );
    const outcomes = [carrier.submit(submission({ body: LONG })), carrier.submit(submission({ body: LONG }))];
    expect(carrier.room()).toBe(0);
    await until(() => peer.submits().length === 2);
    const seqs = peer.submits().map((pdu) => pdu.shortMessage[5]);
    expect(seqs, 'no second part before the response to the first').toEqual([1, 1]);
    peer.links[0]?.cut();
    expect(kinds(await Promise.all(outcomes))).toEqual({ unknown: 2 });
  });

  test('a later part that is throttled is repeated after the pause, and the earlier ones are not', async () => {
    const script = onSubmit((pdu, nth) =>
      nth === 2 || nth === 3 ? refuse(pdu, STATUS.ESME_RTHROTTLED) : accept(pdu, `answer-${nth}`),
    );
    const { carrier, peer } = await bound(script, { throttlePauseMs: 10 });
    const outcome = await carrier.submit(submission({ body: LONG }));
    expect(outcome).toEqual({ kind: 'accepted', carrierIds: ['answer-1', 'answer-4', 'answer-5'] });
    expect(peer.submits().map((pdu) => pdu.shortMessage[5])).toEqual([1, 2, 2, 2, 3]);
  });

  test('a later part waits for the end of a pause that another message caused', async () => {
    const held: Pdu[] = [];
    let throttledAt = 0;
    let secondPartAt = 0;
    const { carrier, peer } = await bound(
      (pdu, link) => {
        if (pdu.command !== 'submit_sm') return false;
        if (pdu.shortMessage[5] === 2) secondPartAt = performance.now();
        if (pdu.esmClass !== 0) return pdu.shortMessage[5] === 1 && held.push(pdu) > 0;
        throttledAt = performance.now();
        link.send(refuse(pdu, STATUS.ESME_RTHROTTLED));
        return true;
      },
      { throttlePauseMs: 100 },
    );
    const long = carrier.submit(submission({ body: LONG }));
    expect(await carrier.submit(submission())).toMatchObject({ kind: 'retry' });
    for (const pdu of held) peer.links[0]?.send(accept(pdu, 'one'));
    expect(await long).toMatchObject({ kind: 'accepted' });
    expect(secondPartAt - throttledAt).toBeGreaterThanOrEqual(99);
  });

  test('a later part that stays throttled past the validity is refused as EXPIRED, with the ids so far', async () => {
    const script = onSubmit((pdu, nth) => (nth === 1 ? accept(pdu, 'one') : refuse(pdu, STATUS.ESME_RTHROTTLED)));
    const { carrier } = await bound(script, { throttlePauseMs: 10 });
    const outcome = await carrier.submit(submission({ body: LONG, validUntil: new Date(Date.now() + 100) }));
    expect(outcome).toMatchObject({ kind: 'refused', status: 'EXPIRED', carrierIds: ['one'] });
  });

  test('a later part that is refused ends the message, with the ids so far', async () => {
    const script = onSubmit((pdu, nth) => (nth === 1 ? accept(pdu, 'one') : refuse(pdu, STATUS.ESME_RINVMSGLEN)));
    const { carrier, peer } = await bound(script);
    const outcome = await carrier.submit(submission({ body: LONG }));
    expect(outcome).toMatchObject({ kind: 'refused', status: 'REJECTED', carrierIds: ['one'] });
    expect(peer.submits()).toHaveLength(2);
  });

  test('a refusal that blames the carrier lets another carrier try, unless this one has taken a part', async () => {
    const script = onSubmit((pdu, nth) => (nth === 2 ? accept(pdu, 'one') : refuse(pdu, STATUS.ESME_RSUBMITFAIL)));
    const { carrier } = await bound(script);
    const [whole, rest] = [await carrier.submit(submission()), await carrier.submit(submission({ body: LONG }))];
    expect(whole).toMatchObject({ kind: 'refused', elsewhere: true, carrierIds: [] });
    expect(rest).toMatchObject({ kind: 'refused', elsewhere: false, carrierIds: ['one'] });
  });

  test('a later part without a response ends the message as unknown, with the ids so far', async () => {
    const { carrier } = await bound((pdu, link) => {
      if (pdu.command !== 'submit_sm') return false;
      if (pdu.shortMessage[5] === 1) link.send(accept(pdu, 'one'));
      else link.cut();
      return true;
    });
    const outcome = await carrier.submit(submission({ body: LONG }));
    expect(outcome).toMatchObject({ kind: 'unknown', carrierIds: ['one'] });
  });

  test('a part that was not sent is sent on another bind or after the reconnect', async () => {
    const { carrier, peer } = await bound((pdu, link) => {
      if (pdu.command === 'submit_sm' && pdu.shortMessage[5] === 1) {
        link.send(accept(pdu, 'one'));
        link.send({ command: 'unbind', status: 0, sequence: 1 });
        return true;
      }
      return false;
    });
    const outcome = await carrier.submit(submission({ body: LONG }));
    expect(outcome).toMatchObject({ kind: 'accepted' });
    expect(outcome.kind === 'accepted' && outcome.carrierIds).toHaveLength(3);
    expect(peer.links).toHaveLength(2);
    expect(peer.submits().map((pdu) => pdu.shortMessage[5])).toEqual([1, 2, 3]);
  });

  test('stopping lets a started message send its remaining parts', async () => {
    const held: Pdu[] = [];
    const { carrier, peer } = await bound(
      (pdu) => pdu.command === 'submit_sm' && held.length === 0 && held.push(pdu) > 0,
    );
    const outcome = carrier.submit(submission({ body: LONG }));
    await until(() => held.length === 1);
    const stopped = carrier.stop(2000);
    for (const pdu of held) peer.links[0]?.send(accept(pdu, 'one'));
    await stopped;
    expect(await outcome).toMatchObject({ kind: 'accepted' });
    expect(peer.submits()).toHaveLength(3);
  });

  test('stopping ends a message whose later part waits as unknown, with the ids so far', async () => {
    const script = onSubmit((pdu, nth) => (nth === 1 ? accept(pdu, 'one') : refuse(pdu, STATUS.ESME_RTHROTTLED)));
    const { carrier, peer } = await bound(script, { throttlePauseMs: 30_000 });
    const outcome = carrier.submit(submission({ body: LONG }));
    await until(() => peer.submits().length === 2);
    await carrier.stop(50);
    expect(await outcome).toMatchObject({ kind: 'unknown', carrierIds: ['one'] });
  });
});

test('a later part that stays throttled is given up after 20 attempts, with the ids so far', async () => {
  const answers = [accept(PDU, 'one'), ...Array<Pdu>(30).fill(refuse(PDU, STATUS.ESME_RTHROTTLED))];
  let asked = 0;
  const session = {
    kind: 'transceiver' as const,
    start: () => undefined,
    up: () => true,
    writable: () => true,
    window: () => 1,
    stuck: () => false,
    fault: () => null,
    rebind: () => undefined,
    stop: () => Promise.resolve(),
    request: (_frame: Buffer, answer: (answer: Answer) => void): void => {
      asked += 1;
      answer({ kind: 'response', pdu: answers[asked - 1] ?? PDU });
    },
  };
  const real = createPool([session], { throttlePauseMs: 1 }, () => undefined);
  const waits: number[] = [];
  const retryMs = (tries = 0): number => {
    waits.push(real.throttle.retryMs(tries));
    return 0;
  };
  const pool = { ...real, throttle: { ...real.throttle, retryMs } };
  const slot = pool.claim();
  const outcome = slot && (await sendParts(pool, slot, [Buffer.alloc(16), Buffer.alloc(16)], null));
  expect(outcome).toMatchObject({ kind: 'refused', status: 'REJECTED', code: 'ESME_RTHROTTLED', carrierIds: ['one'] });
  expect(asked).toBe(21);
  expect([waits.length, waits[0], waits.at(-1)]).toEqual([19, 1, 30_000]);
});

describe('window', () => {
  test('no bind has more open submits than its window, and all binds are used', async () => {
    const open = new Map<unknown, Pdu[]>();
    let most = 0;
    const { carrier } = await bound(
      (pdu, link) => {
        if (pdu.command !== 'submit_sm') return false;
        const mine = open.get(link) ?? [];
        if (mine.length === 0) setImmediate(() => mine.splice(0).forEach((each) => link.send(accept(each, 'a'))));
        mine.push(pdu);
        open.set(link, mine);
        most = Math.max(most, mine.length);
        return true;
      },
      { window: 5, binds: 3 },
    );
    await until(() => carrier.room() === 15);
    const outcomes: ReturnType<typeof carrier.submit>[] = [];
    while (outcomes.length < 300) {
      outcomes.push(...submitMany(carrier, Math.min(carrier.room(), 300 - outcomes.length)));
      await Promise.race(outcomes.slice(-15));
      await until(() => carrier.room() > 0);
    }
    expect(kinds(await Promise.all(outcomes))).toEqual({ accepted: 300 });
    expect(most).toBeLessThanOrEqual(5);
    expect(open.size).toBe(3);
  });
});
