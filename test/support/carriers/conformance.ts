import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Carrier, CarrierHost, Outcome, Receipt, Submission } from '../../../src/channels/carrier.ts';

/** The other end of a carrier, as the suite needs it: it records the submits and responds as instructed. */
export type ConformancePeer = {
  /** From now on accepts every submit, refuses it permanently, responds "not now", or does not respond. */
  behave(how: 'accept' | 'refuse' | 'busy' | 'silent'): void;
  /** Returns the destinations of the submits that reached the peer, in digits and in order; one entry per submit. */
  seen(): readonly string[];
  /** Closes every connection abruptly. */
  cut(): void;
  /**
   * Sends a delivery receipt for this carrier id over the connection, and resolves with whether it was acknowledged.
   * Missing for carriers whose receipts arrive as HTTP requests.
   */
  report?(carrierId: string): Promise<boolean>;
  close(): Promise<void>;
};

/** The carrier to test, and its peer. */
export type ConformanceSubject<Peer extends ConformancePeer> = {
  readonly name: string;
  startPeer(): Promise<Peer>;
  /**
   * Creates a carrier for that peer, with room for at least 5 messages, and timeouts and pauses below half a second.
   */
  makeCarrier(peer: Peer): Carrier;
};

const UUID = '018f0000-0000-7000-8000-00000000000';

function submissionTo(destination: string, more: Partial<Submission> = {}): Submission {
  const messageId = `${UUID}${destination.at(-1)}`;
  return { messageId, destination, sender: 'ACME', body: 'Hello', validUntil: null, wantReceipt: true, ...more };
}

const destinations = (count: number): string[] => Array.from({ length: count }, (_, index) => `+35191234567${index}`);
const digits = (destination: string): string => destination.slice(1);
const until = (what: string, condition: () => boolean): Promise<void> =>
  vi.waitFor(() => expect(condition(), what).toBe(true), { timeout: 60_000, interval: 2 });

/**
 * Registers the tests that every carrier must pass, whatever its protocol: the contract of `carrier.ts` and
 * `carrier.ts`.
 */
export function carrierConformance<Peer extends ConformancePeer>(subject: ConformanceSubject<Peer>): void {
  describe(`${subject.name} keeps the carrier contract`, () => {
    let peer: Peer;
    let carrier: Carrier;
    let changes: number;
    let failures: string[];
    let receipts: Receipt[];
    let commit: (receipt: Receipt) => Promise<void>;

    beforeEach(async () => {
      changes = 0;
      failures = [];
      receipts = [];
      commit = () => Promise.resolve();
      peer = await subject.startPeer();
      carrier = subject.makeCarrier(peer);
      onTestFinished(async () => {
        await carrier.stop(0);
        await peer.close();
      });
    });

    const host: CarrierHost = {
      receipt: (receipt) => {
        receipts.push(receipt);
        return commit(receipt);
      },
      inbound: () => Promise.resolve(),
      changed: () => {
        changes += 1;
      },
      failed: (reason) => void failures.push(reason),
      log: () => undefined,
    };

    async function up(): Promise<void> {
      carrier.start(host);
      await until('the carrier comes up', () => carrier.room() > 0);
    }

    test('it is down, has no room, and stops at once before it is started', async () => {
      expect(carrier.state()).toMatchObject({ up: false, bindsUp: 0, inFlight: 0, fault: null });
      expect(carrier.room()).toBe(0);
      await carrier.stop(5000);
    });

    test('it names its channels', () => {
      expect(carrier.channels.length).toBeGreaterThan(0);
    });

    test('it starts and stops without a peer', async () => {
      await peer.close();
      expect(() => carrier.start(host)).not.toThrow();
      await carrier.stop(1000);
      expect(carrier.state().inFlight).toBe(0);
    });

    test('the host is notified when the carrier comes up', async () => {
      await up();
      expect(changes).toBeGreaterThan(0);
      expect(carrier.state()).toMatchObject({ up: true, allLinksUp: true, fault: null });
      expect(failures).toEqual([]);
    });

    test('the host learns why the peer is unreachable', async () => {
      await peer.close();
      carrier.start(host);
      await until('the reason', () => failures.some((reason) => reason.includes('ECONNREFUSED')));
      expect(carrier.state()).toMatchObject({ up: false, allLinksUp: false });
    });

    test('a message that the peer takes is accepted with an id and reaches the peer once', async () => {
      await up();
      const outcome = await carrier.submit(submissionTo('+351912345678'));
      expect(outcome).toMatchObject({ kind: 'accepted', carrierIds: [expect.stringMatching(/./)] });
      expect(peer.seen()).toEqual(['351912345678']);
    });

    test('each message of a burst reaches the peer once and has its own id', async () => {
      await up();
      const outcomes = await Promise.all(destinations(5).map((each) => carrier.submit(submissionTo(each))));
      const ids = outcomes.flatMap((outcome) => (outcome.kind === 'accepted' ? outcome.carrierIds : []));
      expect(new Set(ids).size).toBe(5);
      expect(peer.seen().toSorted()).toEqual(destinations(5).map(digits));
    });

    test('a message in flight takes room until its outcome', async () => {
      await up();
      const room = carrier.room();
      const outcome = carrier.submit(submissionTo('+351912345678'));
      expect(carrier.room()).toBe(room - 1);
      expect(carrier.state().inFlight).toBe(1);
      const before = changes;
      await outcome;
      await until('the host is notified of the free slot', () => changes > before && carrier.room() === room);
      expect(carrier.state().inFlight).toBe(0);
    });

    test('a refused message has a code and a text, and is not sent again', async () => {
      await up();
      peer.behave('refuse');
      const outcome = await carrier.submit(submissionTo('+351912345678'));
      expect(outcome).toMatchObject({ kind: 'refused', code: expect.stringMatching(/./), carrierIds: [] });
      expect(outcome).toMatchObject({ text: expect.stringMatching(/./) });
      expect(peer.seen()).toHaveLength(1);
    });

    test('"not now" returns the message and leaves no room for a while', async () => {
      await up();
      peer.behave('busy');
      const outcome = await carrier.submit(submissionTo('+351912345678'));
      expect(outcome.kind === 'retry' && outcome.afterMs).toBeGreaterThan(0);
      expect(carrier.room()).toBe(0);
      peer.behave('accept');
      const before = changes;
      await until('the pause ends', () => carrier.room() > 0);
      expect(changes).toBeGreaterThan(before);
      expect(await carrier.submit(submissionTo('+351912345678'))).toMatchObject({ kind: 'accepted' });
    });

    test('a message without a response is unknown, and is never sent a second time', async () => {
      await up();
      peer.behave('silent');
      const outcomes = await Promise.all(destinations(3).map((each) => carrier.submit(submissionTo(each))));
      expect(outcomes.map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'unknown']);
      peer.behave('accept');
      await until('the carrier continues', () => carrier.room() > 0);
      await carrier.submit(submissionTo('+351912345679'));
      expect(peer.seen().filter((each) => each !== '351912345679')).toHaveLength(3);
    });

    test('every message that is open when the connection is cut ends once, as unknown when the peer saw it', async () => {
      await up();
      peer.behave('silent');
      const open = destinations(5).map((each) => carrier.submit(submissionTo(each)));
      await until('the peer has them', () => peer.seen().length === 5);
      peer.cut();
      const outcomes: Outcome[] = await Promise.all(open);
      expect(outcomes.map(({ kind }) => kind)).toEqual(Array(5).fill('unknown'));
      peer.behave('accept');
      await until('the carrier recovers', () => carrier.room() > 0);
      expect(await carrier.submit(submissionTo('+351912345678'))).toMatchObject({ kind: 'accepted' });
    });

    test('a message whose validity has ended is refused as EXPIRED and does not reach the peer', async () => {
      await up();
      const validUntil = new Date(Date.now() - 1000);
      const outcome = await carrier.submit(submissionTo('+351912345678', { validUntil }));
      expect(outcome).toMatchObject({ kind: 'refused', status: 'EXPIRED', carrierIds: [] });
      expect(peer.seen()).toEqual([]);
    });

    test('stop leaves no message open: those without a response at the deadline are unknown', async () => {
      await up();
      peer.behave('silent');
      const open = destinations(3).map((each) => carrier.submit(submissionTo(each)));
      await until('the peer has them', () => peer.seen().length === 3);
      await carrier.stop(50);
      expect((await Promise.all(open)).map(({ kind }) => kind)).toEqual(['unknown', 'unknown', 'unknown']);
      expect(carrier.room()).toBe(0);
      expect(carrier.state()).toMatchObject({ up: false, inFlight: 0 });
    });

    test('a receipt names the message, and is acknowledged only once the host has committed it', async () => {
      await up();
      if (!peer.report) return;
      const outcome = await carrier.submit(submissionTo('+351912345678'));
      const [carrierId = ''] = outcome.kind === 'accepted' ? outcome.carrierIds : [];
      const committed = Promise.withResolvers<void>();
      commit = () => committed.promise;
      let acknowledged: boolean | null = null;
      const reported = peer.report(carrierId).then((answer) => {
        acknowledged = answer;
      });
      await until('the host has the receipt', () => receipts.length === 1);
      expect(receipts[0]).toMatchObject({ state: 'DELIVERED', carrierIds: [carrierId] });
      expect(acknowledged).toBeNull();
      committed.resolve();
      await reported;
      expect(acknowledged).toBe(true);
    });

    test('a receipt that the host could not commit is not acknowledged', async () => {
      await up();
      if (!peer.report) return;
      commit = () => Promise.reject(new Error('the database is unreachable'));
      expect(await peer.report('some-id')).toBe(false);
      commit = () => Promise.resolve();
      expect(await peer.report('some-id')).toBe(true);
    });
  });
}
