import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, ok } from '../../../api/client.ts';
import { type Campaign, CAMPAIGN, isSending } from '../../campaign.ts';

const POLL_MS = 5000;

const findResults = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CAMPAIGN}/results`, { params: { path: { id } }, signal }));

const findFunnel = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${CAMPAIGN}/funnel`, { params: { path: { id } }, signal }));

export type CampaignResults = Awaited<ReturnType<typeof findResults>>;
export type CampaignFunnel = Awaited<ReturnType<typeof findFunnel>>;

/** The results by channel; the status is part of the key, so that they are fetched once more when the campaign ends. */
export const useFunnel = ({ id, status, cancelled }: Campaign, pollMs: number) =>
  useQuery({
    queryKey: ['campaign', id, 'funnel', status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findFunnel(id, signal),
    refetchInterval: isSending({ status }) && !cancelled ? pollMs : false,
  });

/** Reasons of failure, replies, and figures by the minute; refetched while the campaign is being sent. */
export const useResults = ({ id, status }: Campaign) =>
  useQuery({
    queryKey: ['campaign', id, 'results', status],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findResults(id, signal),
    refetchInterval: isSending({ status }) ? POLL_MS : false,
  });

export type ResultsQuery = ReturnType<typeof useResults>;
