import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { AccountLink } from '../shared/account-link.tsx';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import type { Overview } from './overview.ts';

type Row = Overview['top'][number];

/** The accounts that send most. */
export function Top({ top }: Pick<Overview, 'top'>) {
  const { t } = useTranslation('operator');
  const columns: readonly PlainColumn<Row>[] = [
    {
      id: 'account',
      header: t('account.word'),
      cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
    },
    { id: 'sent', header: t('overview.sent'), align: 'right', cell: ({ sent }) => <Num value={sent} /> },
  ];
  return (
    <Section title={t('overview.top')}>
      {top.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('overview.noTop')}
        </Text>
      ) : (
        <PlainTable
          label={t('overview.top')}
          columns={columns}
          rows={top}
          rowId={({ accountId }) => String(accountId)}
        />
      )}
    </Section>
  );
}
