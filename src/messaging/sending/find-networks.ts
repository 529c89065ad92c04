import { type NetworkOf, NO_NETWORK } from '../../network/number-lookups/finder.ts';
import { DEFAULT_NUMBER_RULES } from '../../platform/lib/phone/number-rules.ts';
import { readDestination } from '../consent/check.ts';
import type { Draft } from './draft.ts';
import type { Lookups, Requester } from './prepare.ts';

/**
 * Finds the networks of the numbers that SMS go to, where a route or a cost depends on that. Waits for those that are not known
 * yet, but no longer than the look-up service is given.
 */
export async function findNetworks(
  { networks }: Pick<Lookups, 'networks'>,
  { accountId, numberRules = DEFAULT_NUMBER_RULES }: Pick<Requester, 'accountId' | 'numberRules'>,
  drafts: readonly Draft[],
): Promise<NetworkOf> {
  if (!networks.isNeeded()) return NO_NETWORK;
  const numbers = drafts.flatMap((draft) => {
    if (draft.channel !== 'SMS' || draft.simulation) return [];
    const read = readDestination(draft, numberRules);
    return 'fault' in read ? [] : [read.e164];
  });
  return networks.find(numbers, { accountId, wait: true });
}
