import { type Hours, openingOf } from './hours.ts';

/** Conditions of a route; null conditions are always met. */
export type Conditions = {
  /** MCC and MNC of the network of the number, such as 22201. Not met while the network is unknown. */
  readonly network: string | null;
  /** The account that sends. */
  readonly accountId: number | null;
  /** The sender of the message, in any case. */
  readonly sender: string | null;
  /** Hours in which the message is sent: immediately, or at its scheduled time. */
  readonly hours: Hours | null;
};

/** Data about a message when it is routed. */
export type Traffic = {
  readonly accountId: number;
  readonly sender: string;
  /** MCC and MNC of the network of its number; null if unknown. */
  readonly network: string | null;
  /** Send time; null: now. */
  readonly at: Date | null;
  /**
   * Decides its place where routes share the traffic: the same key goes the same way. The id of the message, or, where
   * messages belong together, a value they share.
   */
  readonly key: string;
  /** Changes the place of all keys: the id of the campaign, whose messages have the number as their key. */
  readonly salt: number;
};

export type ConditionName = 'network' | 'account' | 'sender' | 'hours';

/** A condition that is ready to be checked for many messages. */
export type Check = {
  readonly name: ConditionName;
  isMet(traffic: Traffic): boolean;
};

/** Makes the checks of the conditions of a route; none when it has no conditions. */
export function checksOf({ network, accountId, sender, hours }: Conditions): Check[] {
  const checks: Check[] = [];
  if (network !== null) checks.push({ name: 'network', isMet: (traffic) => traffic.network === network });
  if (accountId !== null) checks.push({ name: 'account', isMet: (traffic) => traffic.accountId === accountId });
  if (sender !== null) {
    const name = sender.toLowerCase();
    checks.push({ name: 'sender', isMet: (traffic) => traffic.sender.toLowerCase() === name });
  }
  if (hours !== null) {
    const isOpen = openingOf(hours);
    checks.push({ name: 'hours', isMet: ({ at }) => isOpen(at?.getTime() ?? Date.now()) });
  }
  return checks;
}

/**
 * Writes the conditions of a route for people: `network 22201, account 7, sender ACME, 08:00-20:00 Europe/Rome
 * Mon-Fri`.
 */
export function describeConditions({ network, accountId, sender, hours }: Conditions): string {
  return [
    ...(network === null ? [] : [`network ${network}`]),
    ...(accountId === null ? [] : [`account ${accountId}`]),
    ...(sender === null ? [] : [`sender ${sender}`]),
    ...(hours === null ? [] : [describeHours(hours)]),
  ].join(', ');
}

const DAYS: readonly string[] = ['', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'];

function describeHours({ from, to, timeZone, weekdays }: Hours): string {
  const time = `${from}-${to} ${timeZone}`;
  if (weekdays.length === 7) return time;
  const [first = 0, last = 0] = [weekdays[0], weekdays.at(-1)];
  const isRange = weekdays.length > 2 && last - first === weekdays.length - 1;
  const names = isRange ? `${DAYS[first]}-${DAYS[last]}` : weekdays.map((day) => DAYS[day]).join(' ');
  return `${time} ${names}`;
}
