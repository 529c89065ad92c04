import { LRUCache } from 'lru-cache';
import type { HttpAnswer } from '../http/client.ts';
import { getList, parseJson } from '../json.ts';
import { newId } from '../../platform/lib/ids.ts';
import { createSlots } from '../../platform/lib/limits/slots.ts';
import { capabilitiesPath, type RbmClient } from './client.ts';
import type { RcsSettings } from './settings.ts';

/** Reachability of numbers in the network; see `createReachability`. */
export type Reachability = {
  /** Implements `Carrier.findReachable`. */
  find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>>;
  /** Stores the reachability of a number that the network reveals in another response. */
  learn(sender: string, destination: string, reachable: boolean): void;
};

type CheckedNumber = [user: string, reachable: boolean];

/** Maximum numbers per request. */
const MAX_BATCH_SIZE = 10_000;
/** Maximum numbers that are remembered; about 200 bytes each. */
const MAX_REMEMBERED = 200_000;

/**
 * Creates the check of which numbers the network reaches for an agent (RBM API, capabilities). Results are kept for as
 * long as the settings state. Many numbers are checked in batches, few of them one by one; those for which the check
 * failed are omitted.
 */
export function createReachability(settings: RcsSettings, client: RbmClient): Reachability {
  const known = new LRUCache<string, boolean>({ max: MAX_REMEMBERED });
  const slots = createSlots(settings.capabilityConcurrency);
  const keyOf = (sender: string, destination: string): string => `${sender} ${destination}`;

  function learn(sender: string, destination: string, reachable: boolean): void {
    const seconds = reachable ? settings.reachableCacheSeconds : settings.unreachableCacheSeconds;
    known.set(keyOf(sender, destination), reachable, { ttl: seconds * 1000 });
  }

  async function checkBatch(sender: string, users: readonly string[]): Promise<CheckedNumber[]> {
    const body = JSON.stringify({ users, agentId: sender });
    const answer = await slots.run(() => client.call({ method: 'POST', path: '/users:batchGet', body }));
    if (answer.kind === 'failed' || answer.status !== 200) return [];
    const json = parseJson(answer.body.toString());
    if (json === undefined) return [];
    const reachable = new Set(getList(json, 'reachableUsers'));
    return users.map((user) => [user, reachable.has(user)]);
  }

  async function checkOne(sender: string, user: string): Promise<CheckedNumber[]> {
    const path = capabilitiesPath(sender, user, newId());
    const reachable = readReachable(await slots.run(() => client.call({ method: 'GET', path })));
    return reachable === null ? [] : [[user, reachable]];
  }

  function checkAll(sender: string, users: readonly string[]): Promise<CheckedNumber[][]> {
    if (users.length < settings.batchMinimum) return Promise.all(users.map((user) => checkOne(sender, user)));
    return Promise.all(inBatches(users).map((batch) => checkBatch(sender, batch)));
  }

  async function find(sender: string, destinations: readonly string[]): Promise<ReadonlyMap<string, boolean>> {
    const results = new Map<string, boolean>();
    const unknown: string[] = [];
    for (const user of new Set(destinations)) {
      const reachable = known.get(keyOf(sender, user));
      if (reachable === undefined) unknown.push(user);
      else results.set(user, reachable);
    }
    for (const [user, reachable] of (await checkAll(sender, unknown)).flat()) {
      results.set(user, reachable);
      learn(sender, user, reachable);
    }
    return results;
  }

  return { find, learn };
}

/** Reads the reachability of one number; null if the response does not state it. */
function readReachable(answer: HttpAnswer): boolean | null {
  if (answer.kind === 'failed') return null;
  if (answer.status === 200) return true;
  return answer.status === 404 ? false : null;
}

/** Splits numbers into batches of about the same size, so that none is below the network's minimum. */
function inBatches(users: readonly string[]): string[][] {
  const count = Math.ceil(users.length / MAX_BATCH_SIZE);
  const size = Math.ceil(users.length / count);
  return Array.from({ length: count }, (_, index) => users.slice(index * size, (index + 1) * size));
}
