import { ActionIcon, Group, Stack, Text } from '@mantine/core';
import { ChevronRight, ScrollText } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { SidePanel } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { Hint } from '../ui/hint.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, Facts } from '../ui/values.tsx';
import { usePriceName, useServerText } from './shared.tsx';

const ACTIONS = [
  'connection.add',
  'connection.change',
  'connection.set-up',
  'connection.remove',
  'route.add',
  'route.remove',
  'price.set',
  'price.remove',
  'sender.assign',
  'sender.remove',
  'cost.set',
  'cost.remove',
  'cost.import',
  'sender-rule.set',
  'sender-rule.remove',
  'registered-sender.add',
  'registered-sender.remove',
  'number-pool.add',
  'number-pool.remove',
  'number-pool.add-number',
  'number-pool.remove-number',
  'sending.pause',
  'sending.resume',
] as const;
const FIELDS = { ...listFields(), action: choice(ACTIONS) };

const listEntries = (query: { page: number; limit: number; action?: string }, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/audit', { params: { query }, signal }));
type Entry = Awaited<ReturnType<typeof listEntries>>['data'][number];

/** The page of the gateway's audit log. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const [shown, setShown] = useState<Entry | null>(null);
  const columns = useEntryColumns();
  const { page, limit, action } = search;
  const query = useListQuery(['operator', 'log', search], (signal) =>
    listEntries({ page, limit, ...(action && { action }) }, signal),
  );
  return (
    <PageFrame title={t('log.title')} description={t('log.description')}>
      <FilterBar isFiltered={action !== ''} onClear={() => setSearch({ action: '' })}>
        <ChoiceFilter
          label={t('log.anyAction')}
          options={ACTIONS.map((value) => ({ value, label: t(`log.action.${value.replace('.', '-')}`) }))}
          value={action}
          onChange={(next) => setSearch({ action: next })}
        />
      </FilterBar>
      <DataTable<Entry>
        id="operator-log"
        label={t('log.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        onRowClick={setShown}
        actions={(entry) => (
          <ShowIcon label={t('log.show', { subject: entry.subject })} onClick={() => setShown(entry)} />
        )}
        empty={<EmptyState icon={ScrollText} title={t('log.none.title')} text={t('log.none.text')} />}
      />
      <SidePanel opened={shown !== null} onClose={() => setShown(null)} title={t('log.entry')}>
        {shown && <Details entry={shown} />}
      </SidePanel>
    </PageFrame>
  );
}

function useEntryColumns(): readonly Column<Entry>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'action', header: t('log.what'), phone: 'title', cell: ({ action }) => <What action={action} /> },
      { id: 'subject', header: t('log.subject'), cell: (entry) => <Subject entry={entry} /> },
      { id: 'actor', header: t('log.who'), cell: ({ actor }) => <Who actor={actor} /> },
      { id: 'at', header: t('log.when'), cell: ({ at }) => <DateTime value={at} /> },
    ],
    [t],
  );
}

/** Subject of an entry, from its subject and details. */
function Subject({ entry: { action, subject, detail } }: { readonly entry: Entry }) {
  const { t } = useTranslation('operator');
  const priceName = usePriceName();
  const of = subject.replace(/^[a-z-]+:/, '');
  if (action === 'route.add') {
    const prefix = String(detail['prefix']);
    return <bdi>{`${prefix === '' ? t('prefix.all') : `+${prefix}`} → ${String(detail['connection'])}`}</bdi>;
  }
  if (action.startsWith('price.')) {
    const [channel = '', prefix = ''] = of.split('/');
    return <bdi>{priceName({ channel, prefix })}</bdi>;
  }
  if (action === 'sending.pause') return <bdi>{String(detail['reason'])}</bdi>;
  return <bdi>{action.startsWith('route.') ? `#${of}` : of}</bdi>;
}

function What({ action }: Pick<Entry, 'action'>) {
  const serverText = useServerText();
  return <span>{serverText(`log.action.${action.replace('.', '-')}`, action)}</span>;
}

function Who({ actor: { username, kind } }: Pick<Entry, 'actor'>) {
  const { t } = useTranslation('operator');
  return <bdi>{username ?? t(`log.kind.${kind}`)}</bdi>;
}

function Details({ entry }: { readonly entry: Entry }) {
  const { t } = useTranslation('operator');
  const { action, subject, actor, at, detail } = entry;
  return (
    <Stack>
      <Facts
        facts={[
          { label: t('log.what'), value: <What action={action} /> },
          { label: t('log.subject'), value: <bdi>{subject}</bdi> },
          { label: t('log.who'), value: <Who actor={actor} /> },
          { label: t('log.when'), value: <DateTime value={at} show="exact" /> },
        ]}
      />
      <Group>
        <Text size="sm" fw={500}>
          {t('log.detail')}
        </Text>
      </Group>
      <JsonView value={detail} label={t('log.detail')} />
    </Stack>
  );
}

/** Opens the details of a row, by keyboard as well. */
const ShowIcon = ({ label, onClick }: { readonly label: string; readonly onClick: () => void }) => (
  <Hint label={label}>
    <ActionIcon variant="subtle" color="gray" onClick={onClick} aria-label={label}>
      <ChevronRight size={16} />
    </ActionIcon>
  </Hint>
);
