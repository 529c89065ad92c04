import { setTimeout as delay } from 'node:timers/promises';
import { listMovedAccounts } from '../../src/cells/directory.ts';
import { BULK, type Client, createClient, SEND } from '../../test/support/client.ts';
import { destinationOf } from '../lib/messages.ts';
import type { Account } from '../lib/stage.ts';
import type { Cells } from './cells.ts';

const CLIENTS = 4;
const BULK_EVERY_MS = 700;
const SCHEDULED_EVERY_MS = 400;
/** Longer than a move takes, so that some are scheduled in one cell and sent from the other. */
const SCHEDULED_AFTER_MS = 12_000;
const RETRY_MS = 50;

/** Disposal ends it at once. Otherwise its failing requests would hide the first failure. */
export type Traffic = AsyncDisposable & {
  /** The ids of all messages that were accepted. */
  readonly ids: string[];
  /** The longest that a single send had to wait for its response, with all attempts, in ms. */
  longestMs(): number;
  /** Returns the number of attempts with a response other than 200. */
  refused(): number;
  stop(): Promise<void>;
  /** The client at the cell where the account is now. */
  client(): Promise<Client>;
};

/** The proxy in front of the cells, which asks the directory where the account is. */
function frontOf({ stages, directory }: Cells, account: Account): () => Promise<Client> {
  const clients = stages.map(({ gateway }) => createClient(() => String(gateway.ready['address']), account.apiKey));
  return async () => {
    const cell = (await listMovedAccounts(directory)).get(account.accountId) ?? 0;
    const client = clients[cell];
    if (!client) throw new Error(`no cell ${cell}`);
    return client;
  };
}

/**
 * Starts clients that send until they are stopped: each message to its own number, each request again until it is
 * accepted, under an id that makes the repeat harmless.
 */
export function startTraffic(cells: Cells, account: Account, bulk: number): Traffic {
  const ids: string[] = [];
  const front = frontOf(cells, account);
  let [next, longestMs, refused, isOn, isAbandoned] = [0, 0, 0, true, false];

  async function untilAccepted(path: string, body: object): Promise<unknown> {
    const beganAt = performance.now();
    while (!isAbandoned) {
      const answer = await (await front()).request('POST', path, { body }).catch(() => null);
      if (answer?.status === 200) {
        if (path === SEND) longestMs = Math.max(longestMs, performance.now() - beganAt);
        return answer.body;
      }
      // The time of a scheduled message has passed while its request waited: whether it was accepted before is not known.
      if (answer?.status === 400) return null;
      refused += 1;
      await delay(RETRY_MS);
    }
    return null;
  }
  const single = async (more: object = {}): Promise<void> => {
    const n = next++;
    const body = {
      phoneNumber: destinationOf(n),
      message: 'Your code is 1',
      customerMessageId: `single-${n}`,
      ...more,
    };
    const answer = (await untilAccepted(SEND, body)) as { messageId: string } | null;
    if (answer) ids.push(answer.messageId);
  };
  const many = async (): Promise<void> => {
    await delay(BULK_EVERY_MS);
    const destinations = Array.from({ length: bulk }, () => destinationOf(next++));
    const body = { globalId: `bulk-${next}`, messages: [{ destinations, sender: 'Acme', body: 'For all' }] };
    const answer = (await untilAccepted(BULK, body)) as { results: { id?: string }[] } | null;
    ids.push(...(answer?.results.flatMap(({ id }) => id ?? []) ?? []));
  };
  const scheduled = async (): Promise<void> => {
    await delay(SCHEDULED_EVERY_MS);
    await single({ scheduledDate: new Date(Date.now() + SCHEDULED_AFTER_MS).toISOString() });
  };
  const repeat = async (one: () => Promise<void>): Promise<void> => {
    while (isOn) await one();
  };
  const running = [...Array.from({ length: CLIENTS }, () => repeat(() => single())), repeat(many), repeat(scheduled)];
  const end = async (): Promise<void> => {
    isOn = false;
    await Promise.all(running);
  };
  return {
    ids,
    longestMs: () => Math.round(longestMs),
    refused: () => refused,
    client: front,
    stop: end,
    async [Symbol.asyncDispose]() {
      isAbandoned = true;
      await end();
    },
  };
}
