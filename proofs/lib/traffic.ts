import { setTimeout as delay } from 'node:timers/promises';
<<<<<<< HEAD

/** Something that clients do again and again. */
export type Work = {
  readonly name: string;
  /** From one beginning to the next; the next one begins later if it takes longer. */
  readonly everyMs: number;
  /** Does it once. Rejects when it gets no answer, or one that it should not get. */
  once(): Promise<void>;
};

export type Traffic = {
  /** How often each kind of work was done, and how often it failed, by name. */
  readonly done: ReadonlyMap<string, number>;
  readonly failed: ReadonlyMap<string, number>;
  /** Resolves when what is in progress has ended. */
  stop(): Promise<void>;
};

/** Starts a client for each kind of work. A failure is reported, and the work goes on. */
export function startTraffic(
  works: readonly Work[],
  onFailure: (name: string, error: unknown) => void = () => undefined,
): Traffic {
  const stopped = new AbortController();
  const done = new Map<string, number>();
  const failed = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string): unknown => counts.set(name, (counts.get(name) ?? 0) + 1);

  async function repeat({ name, everyMs, once }: Work): Promise<void> {
    let due = performance.now();
    while (!stopped.signal.aborted) {
      await once().then(
        () => add(done, name),
        (error: unknown) => {
          add(failed, name);
          onFailure(name, error);
        },
      );
      const now = performance.now();
      due = Math.max(due + everyMs, now);
      await delay(due - now, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  }

  const clients = works.map(repeat);
  return {
    done,
    failed,
    async stop() {
      stopped.abort();
=======
import { until } from '../../test/support/until.ts';
import { destinationOf, sendEach } from './messages.ts';
import type { Stage } from './stage.ts';

const CLIENTS = 8;
/** The pause of a client after a request that failed. */
const RETRY_MS = 100;
/** The pause between two bulk requests. */
const BULK_PAUSE_MS = 1000;

/** Clients that send until they are stopped. */
export type Traffic = {
  /** The ids of all messages that were accepted. */
  readonly ids: string[];
  refused(): number;
  /** Resolves when the clients have sent for so long. */
  forMs(ms: number): Promise<void>;
  /** Resolves at the next accepted message. */
  untilAccepted(): Promise<void>;
  stop(): Promise<void>;
};

/**
 * Starts clients that send single messages and requests of `bulk` messages until they are stopped, each message to its own
 * number; a request that fails is not repeated.
 */
export function startTraffic(stage: Stage, { bulk }: { readonly bulk: number }): Traffic {
  const ids: string[] = [];
  let [next, refused] = [0, 0];
  let isOn = true;

  async function send(one: () => Promise<readonly string[]>): Promise<void> {
    while (isOn) {
      const accepted = await one().catch(() => null);
      if (accepted !== null) ids.push(...accepted);
      else {
        refused += 1;
        await delay(RETRY_MS);
      }
    }
  }
  const single = async (): Promise<string[]> => {
    const { messageId } = await stage.client.send({ phoneNumber: destinationOf(next++), message: 'Your code is 1' });
    return messageId === null ? [] : [messageId];
  };
  const many = async (): Promise<string[]> => {
    await delay(BULK_PAUSE_MS);
    const messages = Array.from({ length: bulk }, () => ({ destination: destinationOf(next++), body: 'For all' }));
    return sendEach(stage, messages);
  };
  const clients = [...Array.from({ length: CLIENTS }, () => send(single)), send(many)];
  const untilAccepted = async (): Promise<void> => {
    const before = ids.length;
    await until('an accepted message', () => ids.length > before);
  };
  return {
    ids,
    refused: () => refused,
    forMs: (ms) => delay(ms),
    untilAccepted,
    async stop() {
      isOn = false;
>>>>>>> ha
      await Promise.all(clients);
    },
  };
}
<<<<<<< HEAD

/** The sum over all kinds of work. */
export const sumOf = (counts: ReadonlyMap<string, number>): number => counts.values().reduce((sum, n) => sum + n, 0);
=======
>>>>>>> ha
