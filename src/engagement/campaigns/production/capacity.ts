import type { Step } from '../run/step.ts';
import { countRecentRecipients, listQueueDepths, type QueueDepth } from './sql.ts';

/**
 * Number of messages of a campaign that may wait at a connection: as many as the fastest connection sends in a second.
 */
const MAX_WAITING = 20_000;
/**
 * Seconds' worth of messages that may wait at a connection with a rate: a pause or cancellation withdraws no more.
 */
const MAX_WAITING_SECONDS = 3;
/**
 * Messages are created only when this many slots, or a quarter of all, are free: so they are created by the hundred.
 */
const MIN_FREE_PLACES = 1000;

/** Number of further messages that may be created. */
export type Capacity = {
  /** Messages that may be created in this step, at all connections together. */
  left(): number;
  /** The free slots of the connection that has most of them. */
  largest(): number;
  /** Takes a slot at a connection; returns false when it has none. */
  take(connectionId: number): boolean;
};

/**
 * Finds the number of messages of a campaign that may be created in this step: at most `max`, and within its own rate.
 */
export async function findCapacity({ tx, job, campaign }: Step, max: number): Promise<Capacity> {
  const waiting = await listQueueDepths(tx, job);
  const free = new Map(waiting.map((connection) => [connection.connectionId, freePlaces(connection)]));
  let left = campaign.rate === null ? max : Math.min(max, campaign.rate - (await countRecentRecipients(tx, job)));
  return {
    left: () => left,
    largest: () => Math.max(0, ...free.values()),
    take(connectionId) {
      const places = free.get(connectionId) ?? 0;
      if (places <= 0 || left <= 0) return false;
      free.set(connectionId, places - 1);
      left--;
      return true;
    },
  };
}

function freePlaces({ tps, waiting }: QueueDepth): number {
  const max = tps ? Math.min(MAX_WAITING, Math.max(1, Math.ceil(tps * MAX_WAITING_SECONDS))) : MAX_WAITING;
  const free = max - waiting;
  return free >= Math.min(MIN_FREE_PLACES, max / 4) ? free : 0;
}
