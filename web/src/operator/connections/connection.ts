import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import type { Tone } from '../../ui/values/status-badge.tsx';
import { REFRESH_MS } from '../shared/need.ts';

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
export const connectionsQuery = queryOptions({
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
export type State = 'up' | 'down' | 'fault' | 'paused';

/** The state of a connection in one word. */
export function stateOf({ status, up, fault }: Standing): State {
  if (status === 'paused') return 'paused';
  if (fault) return 'fault';
  return up ? 'up' : 'down';
}

export const TONES: Readonly<Record<State, Tone>> = { up: 'good', down: 'bad', fault: 'bad', paused: 'paused' };
