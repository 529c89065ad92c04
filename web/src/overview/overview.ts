import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';

/** Poll interval while the page is open. */
const REFRESH_MS = 5_000;

/** The overview of the account over the last `hours`. */
export const overviewQuery = (hours: number) =>
  queryOptions({
    queryKey: ['overview', hours],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/overview', { params: { query: { hours } }, signal })),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export type Overview = Awaited<ReturnType<NonNullable<ReturnType<typeof overviewQuery>['queryFn']>>>;
export type Attention = Overview['attention'][number];
export type RunningCampaign = Overview['campaigns'][number];
