import type { Costs } from '../../costs/cost-list.ts';
import { mayBeIn } from '../../../platform/lib/phone/mobile-countries.ts';
import { callingCodeOf } from '../../../platform/lib/phone/phone.ts';
import type { Economics } from './economics.ts';
import type { Plan } from './plan.ts';

/** Effect of a number's network: on the way of the message, or only on the charge of its carrier. */
export type NetworkUse = 'choice' | 'cost';

/** The sending account and the number, in E.164 with its plus. */
export type Recipient = { readonly accountId: number; readonly destination: string };

type Lists = { readonly economics: Economics; readonly dependsOnNetwork: Costs['dependsOnNetwork'] };

/**
 * Returns the effect of a number's network for an account, from the plan of its longest prefix; null if none: no route
 * that the account may get names a network of the number's country, and the costs of their connections do not depend on
 * it. Senders and hours are ignored. Pure.
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
