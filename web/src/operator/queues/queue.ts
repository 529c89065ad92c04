import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';
import { REFRESH_MS } from '../shared/need.ts';

const QUEUES = '/api/operator/v1/queues';
export const MISSED = '/api/operator/v1/schedules/missed';

const findQueues = (signal: AbortSignal) => ok(api.GET(QUEUES, { signal }));
export type Queues = Awaited<ReturnType<typeof findQueues>>;
export const queuesQuery = queryOptions({
  queryKey: ['operator', 'queues', 'all'],
  queryFn: ({ signal }) => findQueues(signal),
  refetchInterval: REFRESH_MS,
});

type Listed = { readonly page: number; readonly limit: number; readonly connection?: string };
export const listDepths = (query: Listed, signal: AbortSignal) =>
  ok(api.GET(`${QUEUES}/messages`, { params: { query }, signal }));
export type Depth = Awaited<ReturnType<typeof listDepths>>['data'][number];

const listMissed = (signal: AbortSignal) => ok(api.GET(MISSED, { params: { query: { limit: 100 } }, signal }));
export type Missed = Awaited<ReturnType<typeof listMissed>>['data'][number];
export const missedQuery = queryOptions({
  queryKey: ['operator', 'queues', 'missed'],
  queryFn: ({ signal }) => listMissed(signal),
  refetchInterval: REFRESH_MS * 2,
});

export const QUEUE_KEYS = [
  ['operator', 'queues'],
  ['operator', 'overview'],
] as const;
