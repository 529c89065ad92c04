import { LRUCache } from 'lru-cache';
import type { HttpAnswer } from '../http/client.ts';
import { listIn, parseJson } from '../json.ts';
import { newId } from '../../platform/lib/ids.ts';
import { createSlots } from '../../platform/lib/slots.ts';
import { capabilitiesPath, type RbmClient } from './client.ts';
import type { RcsSettings } from './settings.ts';

export type Reachability = {
  /** As `Carrier.findReachable`. */
  find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** The network has said it of a number on another occasion. */
  learn(sender: string, destination: string, reachable: boolean): void;
};

type Word = [user: string, reachable: boolean];

/** Numbers of one request. */
const BATCH_MOST = 10_000;
/** Numbers that are remembered; about 200 octets each. */
const REMEMBERED = 200_000;

/**
 * Which numbers the network reaches for an agent (protocol sheet rcs, section 3), remembered as long as the settings
 * say. Many are asked for in batches, few one by one. What could not be asked is left out.
 */
export function createReachability(settings: RcsSettings, client: RbmClient): Reachability {
  const known = new LRUCache<string, boolean>({ max: REMEMBERED });
  const slots = createSlots(settings.capabilityConcurrency);
  const keyOf = (sender: string, destination: string): string => `${sender} ${destination}`;

  function learn(sender: string, destination: string, reachable: boolean): void {
    const seconds = reachable ? settings.reachableCacheSeconds : settings.unreachableCacheSeconds;
    known.set(keyOf(sender, destination), reachable, { ttl: seconds * 1000 });
  }

  async function askBatch(sender: string, users: readonly string[]): Promise<Word[]> {
    const body = JSON.stringify({ users, agentId: sender });
    const answer = await slots.run(() => client.call({ method: 'POST', path: '/users:batchGet', body }));
    if (answer.kind === 'failed' || answer.status !== 200) return [];
    const json = parseJson(answer.body.toString());
    if (json === undefined) return [];
    const reachable = new Set(listIn(json, 'reachableUsers'));
    return users.map((user) => [user, reachable.has(user)]);
  }

  async function askOne(sender: string, user: string): Promise<Word[]> {
    const path = capabilitiesPath(sender, user, newId());
    const reachable = readOne(await slots.run(() => client.call({ method: 'GET', path })));
    return reachable === null ? [] : [[user, reachable]];
  }

  function askAll(sender: string, users: readonly string[]): Promise<Word[][]> {
    if (users.length < settings.batchMinimum) return Promise.all(users.map((user) => askOne(sender, user)));
    return Promise.all(inBatches(users).map((batch) => askBatch(sender, batch)));
  }

  async function find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const words = new Map<string, boolean>();
    const open: string[] = [];
    for (const user of new Set(destinations)) {
      const reachable = known.get(keyOf(sender, user));
      if (reachable === undefined) open.push(user);
      else words.set(user, reachable);
    }
    for (const [user, reachable] of (await askAll(sender, open)).flat()) {
      words.set(user, reachable);
      learn(sender, user, reachable);
    }
    return words;
  }

  return { find, learn };
}

/** The network's word on one number; null when it said nothing of it. */
function readOne(answer: HttpAnswer): boolean | null {
  if (answer.kind === 'failed') return null;
  if (answer.status === 200) return true;
  return answer.status === 404 ? false : null;
}

/** Batches of about the same size, so that none is below the fewest that the network takes. */
function inBatches(users: readonly string[]): string[][] {
  const count = Math.ceil(users.length / BATCH_MOST);
  const size = Math.ceil(users.length / count);
  return Array.from({ length: count }, (_, index) => users.slice(index * size, (index + 1) * size));
}
