import { Group, Stack } from '@mantine/core';
import { PhoneIncoming } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { MsisdnText } from '../../ui/values/msisdn-text.tsx';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { AccountLink } from '../shared/account-link.tsx';
import { ConnectionFilterBar } from '../connections/connection-choice.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { OPERATOR } from '../shared/need.ts';
import { NumberDialog } from './number-dialog.tsx';
import { RemoveNumber } from './remove-number.tsx';
import { type InboundNumber, listNumbers } from './sender.ts';

const FIELDS = { ...listFields(), connection: text() };

/** The inbound numbers and their accounts. */
export function Numbers() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const [isAdding, setIsAdding] = useState(false);
  const columns = useNumberColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(['operator', 'senders', 'numbers', search], (signal) =>
    listNumbers({ page, limit, ...(connection && { connection }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
      {t('inbound.add.open')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end">
        <ConnectionFilterBar value={connection} onChange={(next) => setSearch({ connection: next })} />
        {add}
      </Group>
      <DataTable<InboundNumber>
        id="operator-numbers"
        label={t('sender.tab.numbers')}
        columns={columns}
        query={query}
        rowId={({ number, connection: of }) => `${of} ${number}`}
        search={search}
        onSearch={setSearch}
        actions={(number) => <RemoveNumber number={number} />}
        empty={
          <EmptyState icon={PhoneIncoming} title={t('inbound.none.title')} text={t('inbound.none.text')}>
            {add}
          </EmptyState>
        }
      />
      <NumberDialog opened={isAdding} onClose={() => setIsAdding(false)} />
    </Stack>
  );
}

function useNumberColumns(): readonly Column<InboundNumber>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'number',
        header: t('inbound.number'),
        phone: 'title',
        cell: ({ number }) => (number === '*' ? t('inbound.every') : <MsisdnText number={number} />),
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      {
        id: 'account',
        header: t('account.word'),
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'createdAt', header: t('inbound.since'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}
