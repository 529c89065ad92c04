import type { Step } from '../run/step.ts';
import { countRecentRecipients, listQueueDepths } from './sql.ts';

/** So many messages of a campaign wait at a connection at most: a second's worth of the fastest. */
const MAX_WAITING = 20_000;
/** Where a connection has a rate, what it takes in so many seconds: pause and cancel have no more to take back. */
const MAX_WAITING_SECONDS = 3;
/** More is made only when so many places are free, or a quarter of them all: messages are made by the hundred. */
const MIN_FREE_PLACES = 1000;

/** For how many messages there is room. */
export type Capacity = {
  /** All connections together, by the campaign's own rate. */
  left(): number;
  /** The most that any connection has room for. */
  largest(): number;
  /** Takes a place at a connection; false when it has none. */
  take(connectionId: number): boolean;
};

/** Finds out how much of a campaign may be made now. */
export async function findCapacity({ tx, job, campaign }: Step, most: number): Promise<Capacity> {
  const waiting = await listQueueDepths(tx, job);
  const rooms = new Map(waiting.map((connection) => [connection.connectionId, freePlaces(connection)]));
  let left = campaign.rate === null ? most : Math.min(most, campaign.rate - (await countRecentRecipients(tx, job)));
  return {
    left: () => left,
    largest: () => Math.max(0, ...rooms.values()),
    take(connectionId) {
      const room = rooms.get(connectionId) ?? 0;
      if (room <= 0 || left <= 0) return false;
      rooms.set(connectionId, room - 1);
      left--;
      return true;
    },
  };
}

function freePlaces({ tps, waiting }: { readonly tps: number | null; readonly waiting: number }): number {
  const most = tps ? Math.min(MAX_WAITING, Math.max(1, Math.ceil(tps * MAX_WAITING_SECONDS))) : MAX_WAITING;
  const room = most - waiting;
  return room >= Math.min(MIN_FREE_PLACES, most / 4) ? room : 0;
}
