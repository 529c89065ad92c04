import { Group, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/data-table.tsx';
import { Hint } from '../ui/hint.tsx';
import { Channels, DateTime, Money, Num, Percent, StatusBadge } from '../ui/values.tsx';
import { numberColumn } from '../ui/columns.tsx';
import type { Account, Status } from './account.tsx';
import { AccountLink } from './shared.tsx';

export function useAccountColumns(): readonly Column<Account>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'name',
        header: t('account.name'),
        sortable: true,
        phone: 'title',
        cell: (account) => <Name account={account} />,
      },
      { id: 'status', header: t('state'), cell: ({ status }) => <AccountStatus status={status} /> },
      { id: 'plan', header: t('account.plan'), cell: ({ plan }) => t(`app:plan.${plan}`) },
      {
        id: 'channels',
        header: t('account.channels'),
        hidden: true,
        cell: ({ channels }) => <Channels channels={channels} />,
      },
      {
        id: 'availableCredit',
        header: t('account.credit'),
        align: 'right',
        sortable: true,
        cell: (account) => <Credit account={account} />,
      },
      { id: 'sent', header: t('account.sent24h'), align: 'right', cell: ({ last24h }) => <Num value={last24h.sent} /> },
      {
        id: 'delivered',
        header: t('account.delivered'),
        align: 'right',
        cell: ({ last24h }) => <Percent share={shareOf(last24h)} />,
      },
      {
        id: 'cost',
        header: t('account.cost24h'),
        align: 'right',
        hidden: true,
        cell: ({ last24h, currency }) => <Money amount={last24h.cost} currency={currency} />,
      },
      numberColumn('contacts', t('account.contacts'), { hidden: true }),
      numberColumn('users', t('account.people'), { hidden: true }),
      {
        id: 'createdAt',
        header: t('account.createdAt'),
        sortable: true,
        phone: 'none',
        cell: ({ createdAt }) => <DateTime value={createdAt} show="day" />,
      },
    ],
    [t],
  );
}

/** The share of completed messages that were delivered; null if none are completed. */
export const shareOf = ({
  delivered,
  failed,
}: {
  readonly delivered: number;
  readonly failed: number;
}): number | null => (delivered + failed === 0 ? null : delivered / (delivered + failed));

const Name = ({ account: { id, name } }: { readonly account: Account }) => (
  <Group gap="xs" wrap="nowrap">
    <AccountLink id={id} name={name} />
    <Text size="xs" c="dimmed" className="tabular">
      #{id}
    </Text>
  </Group>
);

/** The account's credit; a postpaid account cannot run out of it. */
function Credit({ account: { availableCredit, currency, unlimited } }: { readonly account: Account }) {
  const { t } = useTranslation('operator');
  const amount = <Money amount={availableCredit} currency={currency} />;
  if (!unlimited) return amount;
  return (
    <Hint label={t('account.paysAfterwards')}>
      <Text span size="sm" c="dimmed" tabIndex={0}>
        {amount}
      </Text>
    </Hint>
  );
}

export function AccountStatus({ status }: { readonly status: Status }) {
  const { t } = useTranslation('operator');
  return <StatusBadge tone={status === 'active' ? 'good' : 'bad'}>{t(`account.status.${status}`)}</StatusBadge>;
}
