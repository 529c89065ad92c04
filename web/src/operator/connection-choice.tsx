import { Group, NativeSelect, Progress, Stack, Text } from '@mantine/core';
import { queryOptions, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { Num, StatusBadge, type Tone } from '../ui/values.tsx';
import { REFRESH_MS } from './shared.tsx';

type StateProps = { readonly connection: Pick<Connection, 'status' | 'up'> & { readonly fault?: string | null } };

export function ConnectionState({ connection }: StateProps) {
  const { t } = useTranslation('operator');
  const state = stateOf(connection);
  return <StatusBadge tone={TONES[state]}>{t(`connection.state.${state}`)}</StatusBadge>;
}

type Props = { readonly connection: Connection };

/** The number of binds that can submit, of those configured. */
export function Links({ connection: { bindsUp, bindsWanted } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return <span className="tabular">{t('of', { some: format.number(bindsUp), all: format.number(bindsWanted) })}</span>;
}

/** The number of unanswered messages, of the window's size. */
export function WindowUse({ connection: { inFlight, window, workers } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  if (window === null) return <Num value={inFlight} />;
  const all = window * Math.max(1, workers);
  const label = t('of', { some: format.number(inFlight), all: format.number(all) });
  return (
    <Stack gap={4} miw={88}>
      <Text size="sm" className="tabular" ta="end">
        {label}
      </Text>
      <Progress.Root size="xs">
        <Progress.Section
          value={Math.min(100, (inFlight / all) * 100)}
          color="blue"
          aria-label={t('connection.window')}
          aria-valuetext={label}
        />
      </Progress.Root>
    </Stack>
  );
}

/** The current rate per second, and the agreed limit. */
export function Rate({ connection: { perSecond, rateLimit } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const digits = { maximumFractionDigits: 1 };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Num value={perSecond} options={digits} />
      {rateLimit !== null && (
        <Text span size="xs" c="dimmed" className="tabular" style={{ whiteSpace: 'nowrap' }}>
          {t('connection.ofAgreed', { agreed: format.number(rateLimit, digits) })}
        </Text>
      )}
    </Group>
  );
}

export const CONNECTIONS = '/api/operator/v1/connections';

type Page = { readonly page: number; readonly limit: number };
export const listConnections = (query: Page, signal: AbortSignal) =>
  ok(api.GET(CONNECTIONS, { params: { query }, signal }));
export type Connection = Awaited<ReturnType<typeof listConnections>>['data'][number];

/** The queries to refetch after a change of a connection or of its users. */
export const CONNECTION_KEYS = [
  ['operator', 'connections'],
  ['operator', 'overview'],
] as const;

/** All connections in one page, for selects; a gateway has only a few. */
const connectionsQuery = queryOptions({
  queryKey: ['operator', 'connections', 'all'],
  queryFn: ({ signal }) => listConnections({ page: 0, limit: 200 }, signal),
});

export const connectionQuery = (name: string) =>
  queryOptions({
    queryKey: ['operator', 'connections', 'one', name],
    queryFn: ({ signal }) => ok(api.GET(`${CONNECTIONS}/{name}`, { params: { path: { name } }, signal })),
    refetchInterval: REFRESH_MS,
  });

export const minutesQuery = (name: string) =>
  queryOptions({
    queryKey: ['operator', 'connections', 'minutes', name],
    queryFn: ({ signal }) => ok(api.GET(`${CONNECTIONS}/{name}/minutes`, { params: { path: { name } }, signal })),
    refetchInterval: REFRESH_MS * 2,
  });

type Standing = Pick<Connection, 'status' | 'up'> & { readonly fault?: string | null };
type State = 'up' | 'down' | 'fault' | 'paused';

/** The state of a connection in one word. */
function stateOf({ status, up, fault }: Standing): State {
  if (status === 'paused') return 'paused';
  if (fault) return 'fault';
  return up ? 'up' : 'down';
}

const TONES: Readonly<Record<State, Tone>> = { up: 'good', down: 'bad', fault: 'bad', paused: 'paused' };

/** Selection of the connections offered; all by default. */
type ConnectionSelection = {
  readonly routedBy?: Connection['routedBy'];
  readonly channel?: Connection['channel'];
};

function useNames({ routedBy, channel }: ConnectionSelection): readonly string[] {
  const { data } = useQuery(connectionsQuery);
  return (data?.data ?? [])
    .filter((connection) => routedBy === undefined || connection.routedBy === routedBy)
    .filter((connection) => channel === undefined || connection.channel === channel)
    .map(({ name }) => name);
}

type ConnectionChoiceProps = ConnectionSelection & {
  /** The name of the connection; '' if none is chosen. */
  readonly value?: string;
  /** The text of the choice of none; by default it asks to choose one. */
  readonly none?: string;
  readonly onChange: (name: string) => void;
  readonly error?: ReactNode;
};

/** A form field that selects a connection. */
export function ConnectionChoice({ routedBy, channel, none, onChange, ...input }: ConnectionChoiceProps) {
  const { t } = useTranslation('operator');
  const names = useNames({ ...(routedBy && { routedBy }), ...(channel && { channel }) });
  return (
    <NativeSelect
      label={t('connection.one')}
      data={[{ value: '', label: none ?? t('route.add.choose') }, ...names]}
      onChange={(event) => onChange(event.currentTarget.value)}
      {...input}
    />
  );
}

type ConnectionFilterProps = ConnectionSelection & {
  readonly value: string;
  readonly onChange: (name: string) => void;
};

/** A filter by connection. */
export function ConnectionFilter({ value, onChange, ...selection }: ConnectionFilterProps) {
  const { t } = useTranslation('operator');
  return (
    <ChoiceFilter
      label={t('anyConnection')}
      options={useNames(selection).map((name) => ({ value: name, label: name }))}
      value={value}
      onChange={onChange}
    />
  );
}

/** The filter by connection as a separate bar. */
export const ConnectionFilterBar = (props: ConnectionFilterProps) => (
  <FilterBar isFiltered={props.value !== ''} onClear={() => props.onChange('')}>
    <ConnectionFilter {...props} />
  </FilterBar>
);
