import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import { REFRESH_MS } from './shared.tsx';

const findOverview = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/overview', { signal }));
export type Overview = Awaited<ReturnType<typeof findOverview>>;
export type Attention = Overview['attention'][number];

export const overviewQuery = queryOptions({
  queryKey: ['operator', 'overview', 'all'],
  queryFn: ({ signal }) => findOverview(signal),
  refetchInterval: REFRESH_MS,
});

export const FENCE = '/api/operator/v1/fence';
export const fenceQuery = queryOptions({
  queryKey: ['operator', 'overview', 'fence'],
  queryFn: ({ signal }) => ok(api.GET(FENCE, { signal })),
});

/** The queries to refetch after pausing or resuming. */
export const SENDING_KEYS = [['operator']] as const;
