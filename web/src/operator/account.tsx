import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, queryOptions, useQuery } from '@tanstack/react-query';
import { Eye, Search } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { useSwitchAccount } from '../app/switch-account.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import { OPERATOR } from './shared.tsx';

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

const MAX_OPTIONS = 6;
const TYPING_MS = 250;

type AccountChoiceProps = {
  readonly label: string;
  /** The ID as a string; '' if none is chosen. */
  readonly value?: string;
  readonly onChange: (id: string) => void;
  readonly error?: ReactNode;
  /** An additional option, such as "All accounts". */
  readonly also?: { readonly value: string; readonly label: string };
};

/** A searchable select for an account; it lists the first matches only. */
export function AccountChoice({ label, value = '', onChange, error, also }: AccountChoiceProps) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useState('');
  const [debounced] = useDebouncedValue(search.trim(), TYPING_MS);
  const { data } = useQuery({
    queryKey: ['operator', 'accounts', 'choice', debounced],
    queryFn: ({ signal }) =>
      listAccounts({ page: 0, limit: MAX_OPTIONS, sort: 'name', ...(debounced && { search: debounced }) }, signal),
    placeholderData: keepPreviousData,
  });
  const hidden = (data?.total ?? 0) - (data?.data.length ?? 0);
  return (
    <Radio.Group label={label} value={value} onChange={onChange} error={error}>
      <Stack gap="xs" mt={4}>
        <TextInput
          aria-label={t('account.search')}
          placeholder={t('account.search')}
          leftSection={<Search size={16} aria-hidden="true" />}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        {also && <Radio value={also.value} label={also.label} />}
        {data?.data.map(({ id, name }) => (
          <Radio key={id} value={String(id)} label={<bdi>{name}</bdi>} />
        ))}
        {hidden > 0 && (
          <Text size="xs" c="dimmed">
            {t('account.more', { count: hidden })}
          </Text>
        )}
      </Stack>
    </Radio.Group>
  );
}

type SwitchProps = { readonly account: { readonly id: number; readonly name: string } };

/** The reason why the switch is disabled: the operator is already in this account; false otherwise. */
function useAlreadyHere(id: number): string | false {
  const { t } = useTranslation('operator');
  return useSession().account.id === id && t('account.look.here');
}

/** Switches to the account with its owner's rights; the shell shows a banner until the operator switches back. */
export function SwitchAccountIcon({ account: { id, name } }: SwitchProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <GuardedIcon
      need={OPERATOR}
      reason={useAlreadyHere(id)}
      label={t('account.look.label', { name })}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      <Eye size={16} />
    </GuardedIcon>
  );
}

export function SwitchAccountButton({ account: { id } }: SwitchProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <GuardedButton
      need={OPERATOR}
      reason={useAlreadyHere(id)}
      variant="default"
      leftSection={<Eye size={16} />}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      {t('account.look.open')}
    </GuardedButton>
  );
}
