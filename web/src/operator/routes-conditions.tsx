import { queryOptions } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';

type Conditions = Pick<Route, 'network' | 'accountId' | 'sender' | 'hours' | 'purpose'>;

/** The conditions of a route in words; nothing if it has none. */
export function ConditionsText({ route }: { readonly route: Conditions }) {
  const { t } = useTranslation('operator');
  const hoursText = useHoursText();
  const { network, accountId, sender, hours, purpose } = route;
  const words = [
    ...(network === null ? [] : [t('route.only.network', { network })]),
    ...(accountId === null ? [] : [t('route.only.account', { id: accountId })]),
    ...(sender === null ? [] : [t('route.only.sender', { sender })]),
    ...(hours === null ? [] : [hoursText(hours)]),
    ...(purpose === null ? [] : [t('route.only.purpose', { purpose: t(`ui:purpose.${purpose}`) })]),
  ];
  return <span>{words.length === 0 ? '–' : words.join('; ')}</span>;
}

/** Monday, 2 January 2023; the day of a week is counted from it. */
const MONDAY = Date.UTC(2023, 0, 2);
const DAY_MS = 24 * 60 * 60 * 1000;

/** Returns the short names of the days of the week, from 1 (Monday) to 7. */
export function useDayName(): (day: number) => string {
  const { i18n } = useTranslation();
  const format = new Intl.DateTimeFormat(i18n.language, { weekday: 'short', timeZone: 'UTC' });
  return (day) => format.format(new Date(MONDAY + (day - 1) * DAY_MS));
}

function useHoursText(): (hours: NonNullable<Route['hours']>) => string {
  const dayName = useDayName();
  return ({ from, to, timeZone, weekdays }) => {
    const days = weekdays.length === 7 ? '' : ` ${weekdays.map(dayName).join(' ')}`;
    return `${from}–${to} ${timeZone}${days}`;
  };
}

export const ROUTES = '/api/operator/v1/routes';

type Listed = { readonly page: number; readonly limit: number; readonly connection?: string };
export const listRoutes = (query: Listed, signal: AbortSignal) => ok(api.GET(ROUTES, { params: { query }, signal }));
export type Route = Awaited<ReturnType<typeof listRoutes>>['data'][number];

/** A message whose route is looked up; account and sender may be empty. */
export type Asked = { readonly number: string; readonly account: string; readonly sender: string };

export const explainQuery = ({ number, account, sender }: Asked) =>
  queryOptions({
    queryKey: ['operator', 'routes', 'explain', number, account, sender],
    queryFn: ({ signal }) => {
      const query = { number, ...(account && { accountId: Number(account) }), ...(sender && { sender }) };
      return ok(api.GET(`${ROUTES}/explain`, { params: { query }, signal }));
    },
    enabled: number !== '',
  });
export type Explained = Awaited<ReturnType<NonNullable<ReturnType<typeof explainQuery>['queryFn']>>>;

export const ROUTE_KEYS = [
  ['operator', 'routes'],
  ['operator', 'connections'],
] as const;
