import { killPoints, NEXT_SUBMIT_MS, startCrew, untilSubmits } from '../lib/kills.ts';
import { untilIdle } from '../lib/messages.ts';
import type { Run } from '../lib/proof.ts';
import type { Order } from '../lib/smpp-customer.ts';
import type { CustomerScene } from './stage.ts';
import { submitAll } from './submit.ts';

/**
 * Size of a run: the messages that a customer submits, and the workers and processes that serve SMPP killed meanwhile.
 */
export type Size = { readonly messages: number; readonly kills: number; readonly serverKills: number };

type Plan = {
  readonly size: Size;
  readonly orders: readonly Order[];
  /**
   * Count that triggers the kills of the processes that serve SMPP: messages that they accepted, or that the carrier
   * took.
   */
  readonly serversFallBy: 'accepted' | 'taken';
  /** Number of binds that the customer loses. */
  readonly cuts?: number;
  readonly stallTimeoutMs: number;
};

const WORKERS = 2;

/** Submits all orders while processes are killed, and waits until the queue is empty. Rejects when an order is refused for good. */
export async function submitThroughKills(
  run: Run,
  { stage, servers, customer }: CustomerScene,
  { size, orders, serversFallBy, cuts = 0, stallTimeoutMs }: Plan,
) {
  const crew = await startCrew(run, stage, WORKERS);
  const submission = submitAll(customer, orders);
  const reached = {
    accepted: (count: number) => submission.untilAccepted(count).then(() => true),
    taken: (count: number) => untilSubmits(stage, count, NEXT_SUBMIT_MS),
  };
  async function actAt(times: number, by: keyof typeof reached, act: () => Promise<void> | void): Promise<void> {
    for (const point of killPoints(run, times, size.messages)) {
      if (!(await reached[by](point))) return;
      await act();
    }
  }
  await Promise.all([
    submission.all,
    actAt(size.serverKills, serversFallBy, servers.killOne),
    actAt(size.kills, 'taken', crew.killOne),
    actAt(cuts, 'taken', customer.cutOne),
  ]);
  await Promise.all([crew.allStarted(), servers.allStarted()]);
  await untilIdle(stage, stallTimeoutMs);
  const [kills, serverKills] = [crew.kills, servers.kills];
  return {
    ids: [...submission.ids.values()],
    counts: { kills, serverKills },
    allKilled: kills === size.kills && serverKills === size.serverKills,
  };
}
