import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';

export const RULES = '/api/operator/v1/sender-rules';
export const REGISTERED = '/api/operator/v1/registered-senders';
export const POOLS = '/api/operator/v1/number-pools';

const KEY = ['operator', 'sender-rules'] as const;
export const SENDER_RULE_KEYS = [KEY] as const;

const listRules = (signal: AbortSignal) => ok(api.GET(RULES, { signal }));
const listRegistered = (signal: AbortSignal) => ok(api.GET(REGISTERED, { signal }));
const listPools = (signal: AbortSignal) => ok(api.GET(POOLS, { signal }));
export type SenderRule = Awaited<ReturnType<typeof listRules>>['data'][number];
export type RegisteredSender = Awaited<ReturnType<typeof listRegistered>>['data'][number];
export type NumberPool = Awaited<ReturnType<typeof listPools>>['data'][number];

export const rulesQuery = queryOptions({
  queryKey: [...KEY, 'rules'],
  queryFn: ({ signal }) => listRules(signal),
});
export const registeredQuery = queryOptions({
  queryKey: [...KEY, 'registered'],
  queryFn: ({ signal }) => listRegistered(signal),
});
export const poolsQuery = queryOptions({
  queryKey: [...KEY, 'pools'],
  queryFn: ({ signal }) => listPools(signal),
});

export const POLICIES = ['allowed', 'replaced', 'refused'] as const;
