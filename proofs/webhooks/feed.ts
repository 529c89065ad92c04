import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../test/support/client.ts';
import type { Run } from '../lib/proof.ts';
import type { Expected } from './compare.ts';
import { codesOf } from './several.ts';

const FEED = '/api/partner-gateway/v1/event-feed';
const PAUSE_MS = 50;
/** The share of pages after which the reader dies before it has stored its cursor. */
const DEATHS = 0.2;

type FeedEvent = {
  readonly id: string;
  readonly data: { readonly messageId: string; readonly status: { readonly code: number } };
};
type Page = { readonly events: readonly FeedEvent[]; readonly next: string | null; readonly caughtUp: boolean };

/** Everything that a reader has got, in the order of its first reading, and how often it died. */
type Read = { readonly events: readonly FeedEvent[]; readonly deaths: number };

/** Makes the account keep a feed. */
export async function keepFeed(client: Client): Promise<void> {
  const { status } = await client.request('PUT', `${FEED}/settings`, { body: { enabled: true } });
  if (status !== 200) throw new Error(`the feed was not switched on: ${status}`);
}

async function readPage(client: Client, after: string | null): Promise<Page | null> {
  // The feed has other events, too, such as that an endpoint was disabled.
  const query = `types=message.*&limit=500${after === null ? '' : `&after=${after}`}`;
  const response = await client.request('GET', `${FEED}?${query}`).catch(() => null);
  return response?.status === 200 ? (response.body as Page) : null;
}

/** Reads until `isOver`, and then to the end; with `run` the reader dies now and then, and reads again from its cursor. */
async function read(client: Client, isOver: () => boolean, run: Run | null): Promise<Read> {
  const events = new Map<string, FeedEvent>();
  let cursor: string | null = null;
  let deaths = 0;
  for (;;) {
    const wasOver = isOver();
    const page = await readPage(client, cursor);
    for (const event of page?.events ?? []) if (!events.has(event.id)) events.set(event.id, event);
    if (page && page.events.length > 0 && run?.random.chance(DEATHS)) deaths++;
    else if (page) {
      cursor = page.next;
      if (wasOver && page.caughtUp && page.events.length === 0) return { events: [...events.values()], deaths };
      if (!page.caughtUp) continue;
    }
    await delay(PAUSE_MS);
  }
}

/** Starts a reader that dies again and again; the function that is returned lets it read to the end. */
export function startReader(run: Run, client: Client): () => Promise<Read> {
  let isOver = false;
  const reading = read(client, () => isOver, run);
  return () => {
    isOver = true;
    return reading;
  };
}

/** Compares what a reader got with what happened, and with the feed as it is read from its beginning afterwards. */
export async function compareFeed(client: Client, expected: readonly Expected[], { events, deaths }: Read) {
  const keyOf = ({ data }: FeedEvent): string => `${data.messageId}/${data.status.code}`;
  const places = new Map(events.map((event, n) => [keyOf(event), n]));
  const wanted = new Set(expected.flatMap((one) => codesOf(one).map((code) => `${one.messageId}/${code}`)));
  const { events: again } = await read(client, () => true, null);
  return {
    missing: wanted.difference(places).size,
    unwanted: events.length - places.size + [...places.keys()].filter((key) => !wanted.has(key)).length,
    outOfOrder: expected.filter((one) => {
      const own = codesOf(one).flatMap((code) => places.get(`${one.messageId}/${code}`) ?? []);
      return own.some((place, n) => place < (own[n - 1] ?? -1));
    }).length,
    changed: again.length === events.length ? again.filter(({ id }, n) => id !== events[n]?.id).length : 1,
    deaths,
  };
}
