import { queryOptions } from '@tanstack/react-query';
import { api, ok } from '../../api/client.ts';

export const ACCOUNTS = '/api/operator/v1/accounts';
/** The fields that the server can sort by. */
const SORTS = ['id', 'name', 'createdAt', 'availableCredit'] as const;
export const PLANS = ['production', 'trial', 'unlimited'] as const;
export const STATUSES = ['active', 'suspended'] as const;
export const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
export const LEDGER_KINDS = ['topup', 'freeze', 'settle', 'return'] as const;

export type Status = (typeof STATUSES)[number];

type Listed = {
  readonly page: number;
  readonly limit: number;
  readonly search?: string;
  readonly status?: Status;
  readonly plan?: (typeof PLANS)[number];
  readonly sort?: (typeof SORTS)[number];
  readonly direction?: 'asc' | 'desc';
};

/** `sort` and `direction` of the API, from the `sort` of the URL: `-name` is by name, descending. */
export function orderOf(sort: string): Pick<Listed, 'sort' | 'direction'> {
  const column = SORTS.find((each) => each === sort.replace(/^-/, ''));
  if (column === undefined) return {};
  return { sort: column, direction: sort.startsWith('-') ? 'desc' : 'asc' };
}

export const listAccounts = (query: Listed, signal: AbortSignal) =>
  ok(api.GET(ACCOUNTS, { params: { query }, signal }));
export type Account = Awaited<ReturnType<typeof listAccounts>>['data'][number];

const findAccount = (id: number, signal: AbortSignal) =>
  ok(api.GET(`${ACCOUNTS}/{id}`, { params: { path: { id } }, signal }));
export type AccountDetails = Awaited<ReturnType<typeof findAccount>>;

/** The query key of an account's page. */
const accountKey = (id: number) => ['operator', 'accounts', 'one', id] as const;
export const ACCOUNT_KEYS = [
  ['operator', 'accounts'],
  ['operator', 'overview'],
] as const;

export const accountQuery = (id: number) =>
  queryOptions({ queryKey: accountKey(id), queryFn: ({ signal }) => findAccount(id, signal) });

type LedgerQuery = { readonly page: number; readonly limit: number; readonly kind?: (typeof LEDGER_KINDS)[number] };
export const listLedger = (id: number, query: LedgerQuery, signal: AbortSignal) =>
  ok(api.GET(`${ACCOUNTS}/{id}/ledger`, { params: { path: { id }, query }, signal }));
export type LedgerEntry = Awaited<ReturnType<typeof listLedger>>['data'][number];
