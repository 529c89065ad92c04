import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../../test/support/until.ts';
import type { StatusRecord } from '../lib/messages.ts';
import { pollUntilDone } from '../lib/poll.ts';
import type { CustomerReceipt, Order, SmppCustomer } from '../lib/smpp-customer.ts';
import type { Stage } from '../lib/stage.ts';

const BATCH = 25;
const PAUSE_MS = 25;
const POLL_MS = 200;
const ACCEPTED_WITHIN_MS = 120_000;

/** Progress of the orders of a customer. */
export type Submission = {
  /** Our id of each message that was accepted, by the destination. */
  readonly ids: ReadonlyMap<string, string>;
  /** Resolves when all are accepted. Rejects when one is refused for good. */
  readonly all: Promise<void>;
  /** Waits until so many are accepted. */
  untilAccepted(count: number): Promise<unknown>;
};

/** Submits orders at up to a thousand a second, so that kills fall among them; a destination is used once. */
export function submitAll(customer: SmppCustomer, orders: readonly Order[]): Submission {
  const ids = new Map<string, string>();
  async function submitOne(order: Order): Promise<void> {
    ids.set(order.destination, await customer.submit(order));
  }
  async function submit(): Promise<void> {
    const open: Promise<void>[] = [];
    for (let first = 0; first < orders.length; first += BATCH) {
      open.push(...orders.slice(first, first + BATCH).map(submitOne));
      await delay(PAUSE_MS);
    }
    await Promise.all(open);
  }
  const all = submit();
  return {
    ids,
    all,
    untilAccepted: (count) =>
      Promise.race([all, until(`${count} accepted messages`, () => ids.size >= count, ACCEPTED_WITHIN_MS)]),
  };
}

/** Orders to these destinations, each under its own reference. */
export const ordersTo = (destinations: readonly string[], textOf: (n: number) => string): Order[] =>
  destinations.map((destination, n) => ({ reference: `order-${n}`, destination, text: textOf(n) }));

/** Returns the number of stored messages of an account: each reference must have made one. */
export async function countMessages({ pool }: Pick<Stage, 'pool'>, accountId: number): Promise<number> {
  const { rows } = await pool.query('SELECT count(*)::int AS n FROM message WHERE account_id = $1', [accountId]);
  return rows[0].n;
}

/** Waits until no delivery waits for a receiver; false when there has been no progress for `stallTimeoutMs`. */
export const untilFetched = ({ pool }: Pick<Stage, 'pool'>, stallTimeoutMs: number): Promise<boolean> =>
  pollUntilDone(
    async () => {
      const { rows } = await pool
        .query('SELECT count(*)::int AS n FROM smpp_outbox')
        .catch(() => ({ rows: [{ n: -1 }] }));
      return { done: rows[0].n === 0, progress: rows[0].n };
    },
    { stallTimeoutMs, pollMs: POLL_MS },
  );

const ENROUTE = 1;
/** message_state by the status of the API. */
const STATE_OF: Readonly<Record<string, number>> = {
  DELIVERED: 2,
  EXPIRED: 3,
  DELETED: 4,
  UNDELIVERABLE: 5,
  REJECTED: 8,
};

/**
 * Compares the receipts that a customer got with what the API says of its messages. One that it could not take then has not
 * arrived.
 */
export function compareReceipts(records: readonly StatusRecord[], receipts: readonly CustomerReceipt[]) {
  const statesById = Map.groupBy(receipts, ({ id }) => id);
  const figures = { receipts: receipts.length, noReceipt: 0, wrongReceipt: 0, receiptsTwice: 0, outOfOrder: 0 };
  for (const { messageId, deliveryStatus } of records) {
    const got = statesById.get(messageId) ?? [];
    const states = got.map(({ state }) => state);
    const finals = states.filter((state) => state !== ENROUTE);
    const expected = STATE_OF[deliveryStatus];
    const hasArrived = got.some(({ state, isTaken }) => isTaken && state !== ENROUTE);
    if (expected !== undefined && !hasArrived) figures.noReceipt++;
    if (finals.some((state) => state !== expected)) figures.wrongReceipt++;
    figures.receiptsTwice += states.length - new Set(states).size;
    if (states.lastIndexOf(ENROUTE) > states.findIndex((state) => state !== ENROUTE) && finals.length > 0)
      figures.outOfOrder++;
  }
  const known = new Set(records.map(({ messageId }) => messageId));
  return { ...figures, strangeReceipts: [...statesById.keys()].filter((id) => !known.has(id)).length };
}
