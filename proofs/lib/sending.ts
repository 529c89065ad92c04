import { setTimeout as delay } from 'node:timers/promises';
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
      await Promise.all(clients);
    },
  };
}
