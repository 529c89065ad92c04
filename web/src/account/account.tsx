import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../api/send.ts';
import type { ListSearch } from '../ui/data-table.tsx';

export const PG = '/api/partner-gateway/v1';
export const MS = '/api/message-server';

export const subscriptionQuery = queryOptions({
  queryKey: ['subscription'],
  queryFn: ({ signal }) => ok(api.GET(`${PG}/subscription`, { signal })),
});

export const KINDS = ['topup', 'freeze', 'settle', 'return'] as const;
export type Kind = (typeof KINDS)[number];

export const listEntries = ({ page, limit, kind }: ListSearch & { readonly kind: Kind | '' }, signal: AbortSignal) =>
  ok(api.GET(`${PG}/credit/entries`, { params: { query: { page, limit, ...(kind !== '' && { kind }) } }, signal }));
export type Entry = Awaited<ReturnType<typeof listEntries>>['data'][number];

export const policyQuery = queryOptions({
  queryKey: ['account', 'campaigns'],
  queryFn: ({ signal }) => ok(api.GET(`${PG}/account/campaigns`, { signal })),
});
export type Policy = Awaited<ReturnType<NonNullable<(typeof policyQuery)['queryFn']>>>;

export const numberRulesQuery = queryOptions({
  queryKey: ['account', 'rules-of-numbers'],
  queryFn: ({ signal }) => ok(api.GET(`${PG}/account/numbers`, { signal })),
});
export type NumberRules = Awaited<ReturnType<NonNullable<(typeof numberRulesQuery)['queryFn']>>>;

/** More than any account has, so that one page lists all senders. */
const MAX_SENDERS = 100;

export const numbersQuery = queryOptions({
  queryKey: ['account', 'numbers'],
  queryFn: ({ signal }) =>
    ok(api.GET(`${MS}/whatsapp/phone-numbers`, { params: { query: { limit: MAX_SENDERS } }, signal })),
});
export const agentsQuery = queryOptions({
  queryKey: ['account', 'agents'],
  queryFn: ({ signal }) => ok(api.GET(`${MS}/rcs/agents`, { params: { query: { limit: MAX_SENDERS } }, signal })),
});
