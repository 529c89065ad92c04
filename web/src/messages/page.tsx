import { Button, Group, NativeSelect, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MessageSquareText, Send } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../ui/data-table.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { ButtonLink, EmptyState, PageFrame } from '../ui/parts.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { useMessageColumns } from './columns.tsx';
import { CHANNELS, FIELDS, type Filters, type Message, messagesQuery, RANGES, SOURCES, STATUSES } from './message.ts';

/** The page that searches the messages of all channels. */
export function Page() {
  const { t } = useTranslation('messages');
  const [filters, setFilters] = useUrlState(FIELDS);
  return (
    <PageFrame title={t('title')} description={t('description')}>
      <MessageFilters filters={filters} onChange={setFilters} />
      <Found filters={filters} />
    </PageFrame>
  );
}

function Found({ filters }: { readonly filters: Filters }) {
  const { t } = useTranslation('messages');
  const navigate = useNavigate();
  const columns = useMessageColumns();
  const { data, error, isPending, isFetching, refetch, ...more } = useInfiniteQuery(messagesQuery(filters));
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = more;
  const list = useMemo(() => {
    const rows = data?.pages.flatMap((page) => page.data);
    // While there is a next page, an empty page does not mean an empty list: the search scans a limited number of messages at a time.
    return rows && { data: rows, page: 0, limit: rows.length, total: hasNextPage ? rows.length + 1 : rows.length };
  }, [data, hasNextPage]);
  const searchedTo = data?.pages.at(-1)?.searchedTo;
  return (
    <DataTable<Message>
      id="messages"
      label={t('title')}
      columns={columns}
      query={{ data: list, error, isPending, isFetching, refetch }}
      rowId={({ messageId }) => messageId}
      search={{ page: 0, limit: 8 }}
      onSearch={() => undefined}
      onRowClick={({ messageId }) => void navigate({ to: `/messages/${messageId}` })}
      empty={<Nothing filtered={isFiltered(filters)} />}
      footer={
        <Group justify="space-between" gap="sm">
          <Text size="sm" c="dimmed" role="status">
            {t('found', { count: list?.data.length ?? 0 })}
            {hasNextPage && searchedTo !== undefined && (
              <>
                {' · '}
                {t('searchedTo')} <DateTime value={searchedTo} show="exact" />
              </>
            )}
          </Text>
          {hasNextPage && (
            <Button variant="default" loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              {t('more')}
            </Button>
          )}
        </Group>
      }
    />
  );
}

function Nothing({ filtered }: { readonly filtered: boolean }) {
  const { t } = useTranslation('messages');
  const kind = filtered ? 'none' : 'empty';
  return (
    <EmptyState icon={MessageSquareText} title={t(`${kind}.title`)} text={t(`${kind}.text`)}>
      {!filtered && (
        <ButtonLink to="/send" leftSection={<Send size={16} aria-hidden="true" />}>
          {t('empty.send')}
        </ButtonLink>
      )}
    </EmptyState>
  );
}

const NONE: Filters = { q: '', channel: '', status: '', source: '', campaign: '', days: '7' };

/** Returns true if a filter is set. The time range does not count, because there is always one. */
const isFiltered = ({ q, channel, status, source, campaign }: Filters): boolean =>
  [q, channel, status, source, campaign].some((value) => value !== '');

type Props = {
  readonly filters: Filters;
  readonly onChange: (patch: Partial<Filters>) => void;
};

function MessageFilters({ filters, onChange }: Props) {
  const { t } = useTranslation('messages');
  return (
    <FilterBar isFiltered={isFiltered(filters)} onClear={() => onChange(NONE)}>
      <SearchField label={t('filter.q')} value={filters.q} onChange={(q) => onChange({ q })} />
      <NativeSelect
        aria-label={t('filter.days')}
        data={RANGES.map((value) => ({ value, label: t(`days.${value}`) }))}
        value={filters.days}
        onChange={(event) => onChange({ days: RANGES.find((each) => each === event.currentTarget.value) ?? '7' })}
      />
      <ChoiceFilter
        label={t('filter.channel')}
        options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
        value={filters.channel}
        onChange={(channel) => onChange({ channel })}
      />
      <ChoiceFilter
        label={t('filter.status')}
        options={STATUSES.map((value) => ({ value, label: t(`ui:messageStatus.${value}`) }))}
        value={filters.status}
        onChange={(status) => onChange({ status })}
      />
      <ChoiceFilter
        label={t('filter.source')}
        options={SOURCES.map((value) => ({ value, label: t(`source.${value}`) }))}
        value={filters.source}
        onChange={(source) => onChange({ source })}
      />
    </FilterBar>
  );
}
