import type { Costs } from '../../costs/cost-list.ts';
import { mayBeIn } from '../../../platform/lib/phone/mobile-countries.ts';
import { callingCodeOf } from '../../../platform/lib/phone/phone.ts';
import type { Economics } from './economics.ts';
import type { Plan } from './plan.ts';

/** What the network of a number changes: the way of the message, or only what its carrier charges. */
export type NetworkUse = 'choice' | 'cost';

/** Who sends an SMS, and to which number, in E.164 with its plus. */
export type Recipient = { readonly accountId: number; readonly destination: string };

type Lists = { readonly economics: Economics; readonly dependsOnNetwork: Costs['dependsOnNetwork'] };

/**
 * Returns what the network of a number changes for an account, from the plan of its longest prefix; null if nothing: no
 * route that the account may get names a network of the number's country, and what their connections cost does not depend
 * on it. Senders and hours are not looked at. Pure.
 */
export function networkUseOf(
  longest: Plan | undefined,
  { accountId, destination }: Recipient,
  { economics, dependsOnNetwork }: Lists,
): NetworkUse | null {
  const callingCode = callingCodeOf(destination.slice(1));
  const connectionIds = new Set<number>();
  for (let plan = longest ?? null; plan !== null; plan = plan.shorter) {
    const own = plan.routes.filter((route) => route.accountId === null || route.accountId === accountId);
    if (own.some(({ network }) => network !== null && mayBeIn(network, callingCode))) return 'choice';
    for (const { connectionId } of own) connectionIds.add(connectionId);
    // A shorter prefix is tried only where no condition is met.
    if (own.some(({ network, sender, hours }) => network === null && sender === null && hours === null)) break;
  }
  if (![...connectionIds].some((connectionId) => dependsOnNetwork(connectionId, destination))) return null;
  return connectionIds.size > 1 && economics.policyFor('SMS', destination) !== undefined ? 'choice' : 'cost';
}
