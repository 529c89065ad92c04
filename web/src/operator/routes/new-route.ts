import { ownZone } from '../../ui/time-zone/zones.ts';
import { digitsOf } from '../shared/prefix-input.tsx';
import type { Route } from './route.ts';

/** The values of the form for a new route; empty texts are conditions that it does not have. */
export type NewRoute = {
  readonly prefix: string;
  readonly connection: string;
  readonly priority: number | string;
  readonly onUnknown: Route['onUnknown'];
  readonly weight: number | string;
  readonly network: string;
  readonly accountId: number | string;
  readonly sender: string;
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly weekdays: readonly string[];
};

/** The values of an empty form, for a connection. */
export const emptyRoute = (connection: string): NewRoute => ({
  prefix: '',
  connection,
  priority: 100,
  onUnknown: 'hold',
  weight: '',
  network: '',
  accountId: '',
  sender: '',
  from: '',
  to: '',
  timeZone: ownZone(),
  weekdays: ['1', '2', '3', '4', '5', '6', '7'],
});

/** The body of the request that adds the route of a form. */
export const toBody = ({
  prefix,
  priority,
  weight,
  network,
  accountId,
  sender,
  connection,
  onUnknown,
  ...hours
}: NewRoute) => ({
  channel: 'SMS' as const,
  prefix: digitsOf(prefix),
  connection,
  onUnknown,
  hours: hoursOf(hours),
  ...(priority !== '' && { priority: Number(priority) }),
  ...(weight !== '' && { weight: Number(weight) }),
  ...(network !== '' && { network }),
  ...(accountId !== '' && { accountId: Number(accountId) }),
  ...(sender !== '' && { sender }),
});

/** Days without hours mean whole days; every day at every hour is no condition. */
function hoursOf({ from, to, timeZone, weekdays }: Pick<NewRoute, 'from' | 'to' | 'timeZone' | 'weekdays'>) {
  const days = weekdays.map(Number).sort((a, b) => a - b);
  if (from === '' && to === '' && days.length === 7) return null;
  return { from: from || '00:00', to: to || '24:00', timeZone, weekdays: days };
}
