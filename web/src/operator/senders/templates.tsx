import { Stack, Text } from '@mantine/core';
import { LayoutTemplate } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter } from '../../ui/filter-bar.tsx';
import { StatusBadge, type Tone } from '../../ui/values/status-badge.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { choice, listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { useServerText } from '../shared/server-text.ts';
import { NetworkFilters } from './network-filters.tsx';
import { listTemplates, NETWORKS, type Template } from './sender.ts';
import { Owner } from './senders.tsx';

const STATUSES = ['APPROVED', 'PENDING', 'REJECTED', 'PAUSED', 'DISABLED'] as const;
const TONES: Readonly<Record<string, Tone>> = {
  APPROVED: 'good',
  PENDING: 'progress',
  REJECTED: 'bad',
  PAUSED: 'paused',
  DISABLED: 'bad',
};
const FIELDS = { ...listFields(), channel: choice(NETWORKS), status: choice(STATUSES), search: text() };

/** The templates of all accounts, last changed first. */
export function Templates() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useTemplateColumns();
  const { page, limit, channel, status } = search;
  const query = useListQuery(['operator', 'senders', 'templates', search], (signal) =>
    listTemplates(
      {
        page,
        limit,
        ...(channel && { channel }),
        ...(status && { status }),
        ...(search.search && { search: search.search }),
      },
      signal,
    ),
  );
  return (
    <Stack gap="lg">
      <NetworkFilters
        label={t('template.search')}
        search={search}
        onSearch={setSearch}
        isFiltered={status !== ''}
        onClear={() => setSearch({ channel: '', status: '', search: '' })}
      >
        <ChoiceFilter
          label={t('template.anyStatus')}
          options={STATUSES.map((value) => ({ value, label: t(`template.status.${value}`) }))}
          value={status}
          onChange={(next) => setSearch({ status: next })}
        />
      </NetworkFilters>
      <DataTable<Template>
        id="operator-templates"
        label={t('sender.tab.templates')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={LayoutTemplate} title={t('template.none.title')} text={t('template.none.text')} />}
      />
    </Stack>
  );
}

function useTemplateColumns(): readonly Column<Template>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'name', header: t('template.name'), phone: 'title', cell: (template) => <Name template={template} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'status', header: t('state'), cell: (template) => <Status template={template} /> },
      { id: 'account', header: t('account.word'), cell: (template) => <Owner owner={template} /> },
      { id: 'updatedAt', header: t('template.updatedAt'), cell: ({ updatedAt }) => <DateTime value={updatedAt} /> },
    ],
    [t],
  );
}

const Name = ({ template: { name, language, category } }: { readonly template: Template }) => (
  <Stack gap={0}>
    <bdi>{name}</bdi>
    <Text size="xs" c="dimmed" fw={400}>
      {[language, category.toLowerCase()].filter(Boolean).join(' · ')}
    </Text>
  </Stack>
);

function Status({ template: { status, reason } }: { readonly template: Template }) {
  const serverText = useServerText();
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge tone={TONES[status] ?? 'neutral'}>{serverText(`template.status.${status}`, status)}</StatusBadge>
      {reason !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {reason}
        </Text>
      )}
    </Stack>
  );
}
