import { Group, Stack, Text } from '@mantine/core';
import { AtSign } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { choice, listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { AccountLink } from '../shared/account-link.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { OPERATOR } from '../shared/need.ts';
import { AssignDialog } from './assign-dialog.tsx';
import { NetworkFilters } from './network-filters.tsx';
import { listSenders, NETWORKS, type Sender } from './sender.ts';
import { SenderActions } from './sender-actions.tsx';

const FIELDS = { ...listFields(), channel: choice(NETWORKS), search: text(), add: text() };

/** The WhatsApp numbers and RCS agents; those waiting to be registered come first. */
export function Senders() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const [isAdding, setIsAdding] = useState(search.add !== '');
  const columns = useSenderColumns();
  const { page, limit, channel } = search;
  const query = useListQuery(['operator', 'senders', 'list', search], (signal) =>
    listSenders({ page, limit, ...(channel && { channel }), ...(search.search && { search: search.search }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
      {t('sender.assign.open')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end">
        <NetworkFilters
          label={t('sender.search')}
          search={search}
          onSearch={setSearch}
          onClear={() => setSearch({ channel: '', search: '' })}
        />
        {add}
      </Group>
      <DataTable<Sender>
        id="operator-senders"
        label={t('sender.tab.senders')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(sender) => <SenderActions sender={sender} />}
        empty={
          <EmptyState icon={AtSign} title={t('sender.none.title')} text={t('sender.none.text')}>
            {add}
          </EmptyState>
        }
      />
      <AssignDialog opened={isAdding} onClose={() => setIsAdding(false)} connection={search.add} />
    </Stack>
  );
}

function useSenderColumns(): readonly Column<Sender>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'name', header: t('sender.name'), phone: 'title', cell: (sender) => <Name sender={sender} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'account', header: t('account.word'), cell: (sender) => <Owner owner={sender} /> },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
    ],
    [t],
  );
}

function Name({ sender: { name, identity } }: { readonly sender: Sender }) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap={2} align="flex-start">
      <bdi>{name || identity || t('sender.noName')}</bdi>
      {identity === null ? (
        <StatusBadge tone="warning">{t('sender.asked')}</StatusBadge>
      ) : (
        <Text size="xs" c="dimmed" fw={400} className="tabular">
          {identity}
        </Text>
      )}
    </Stack>
  );
}

/** The account of an item, or "All accounts". */
export function Owner({
  owner: { accountId, account },
}: {
  readonly owner: { readonly accountId: number | null; readonly account: string | null };
}) {
  const { t } = useTranslation('operator');
  return accountId === null ? (
    <span>{t('sender.everyAccount')}</span>
  ) : (
    <AccountLink id={accountId} name={account ?? String(accountId)} />
  );
}
