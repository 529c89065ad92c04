import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/client.ts';
import { updateCredit } from '../api/credit.ts';
import type { Days } from './days.ts';

/** Poll interval while the page is open. */
const REFRESH_MS = 5_000;

/** The overview of the account over the last `hours`. The header shows the credit that it brings, too. */
export const overviewQuery = (hours: number) =>
  queryOptions({
    queryKey: ['overview', hours],
    queryFn: async ({ client, signal }) => {
      const overview = await ok(api.GET('/api/partner-gateway/v1/overview', { params: { query: { hours } }, signal }));
      if (overview.credit) updateCredit(client, overview.credit.available);
      return overview;
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export type Overview = Awaited<ReturnType<NonNullable<ReturnType<typeof overviewQuery>['queryFn']>>>;
export type Attention = Overview['attention'][number];
export type RunningCampaign = Overview['campaigns'][number];

/** The figures of a period of days, and of the equally long period before. */
export const periodQuery = ({ from, to }: Days) =>
  queryOptions({
    queryKey: ['overview', 'period', from, to],
    queryFn: ({ signal }) =>
      ok(
        api.GET('/api/partner-gateway/v1/overview/period', {
          params: { query: { startDate: from, endDate: to } },
          signal,
        }),
      ),
  });

export type Period = Awaited<ReturnType<NonNullable<ReturnType<typeof periodQuery>['queryFn']>>>;

/** Setup steps with their state. */
export const firstStepsQuery = queryOptions({
  queryKey: ['overview', 'first-steps'],
  queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/overview/first-steps', { signal })),
  refetchInterval: 2 * REFRESH_MS,
});

export type FirstSteps = Awaited<ReturnType<NonNullable<(typeof firstStepsQuery)['queryFn']>>>;
