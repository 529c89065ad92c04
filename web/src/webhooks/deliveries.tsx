import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ListRestart, ScrollText } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedButton } from '../ui/actions.tsx';
import { DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { EmptyState, Section } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { DeliveryPanel, ReplayButton, useDeliveryColumns } from './delivery-panel.tsx';
import { type Endpoint, NEED, typesQuery } from './endpoints.ts';
import { type Delivery, isMessageId, listDeliveries, PERIODS, ReplayDialog, STATES } from './replay-dialog.tsx';

/** The state of the page in its URL. */
export const FIELDS = {
  ...listFields('', 10),
  view: choice(['endpoints', 'types'], 'endpoints'),
  endpoint: text(),
  status: choice(STATES),
  type: text(),
  period: choice(PERIODS),
  message: text(),
  event: text(),
};
const REFRESH_MS = 5_000;

/** The log of the events of an endpoint. */
export function Deliveries({ endpoint }: { readonly endpoint: Endpoint }) {
  const { t } = useTranslation('webhooks');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useDeliveryColumns((event) => setSearch({ event, page: search.page }));
  const { event, view: _view, endpoint: _endpoint, ...filters } = search;
  const query = useListQuery(
    ['webhooks', 'deliveries', endpoint.id, filters],
    (signal) => listDeliveries(endpoint.id, filters, signal),
    { refetchInterval: REFRESH_MS },
  );
  const isFiltered = [search.status, search.type, search.period, search.message].some((each) => each !== '');
  const replay = (
    <GuardedButton
      need={NEED}
      variant="default"
      size="xs"
      leftSection={<ListRestart size={14} />}
      onClick={() => openDialog(<ReplayDialog endpoint={endpoint.id} />)}
    >
      {t('replay.open')}
    </GuardedButton>
  );
  return (
    <Section title={t('log.title')} description={t('log.description')} actions={replay}>
      <DeliveryFilters search={search} onSearch={setSearch} isFiltered={isFiltered} />
      <DataTable<Delivery>
        id="webhook-deliveries"
        label={t('log.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        onRowClick={({ id }) => setSearch({ event: id, page: search.page })}
        actions={(delivery) => <ReplayButton endpoint={endpoint.id} delivery={delivery} />}
        empty={
          <EmptyState
            icon={ScrollText}
            title={t(isFiltered ? 'log.noMatch' : 'log.empty')}
            text={t(isFiltered ? 'log.noMatchText' : 'log.emptyText')}
          />
        }
      />
      <DeliveryPanel
        endpoint={endpoint.id}
        id={event === '' ? null : event}
        onClose={() => setSearch({ event: '', page: search.page })}
      />
    </Section>
  );
}

type Filters = {
  readonly status: (typeof STATES)[number] | '';
  readonly type: string;
  readonly period: (typeof PERIODS)[number] | '';
  readonly message: string;
};
type DeliveryFiltersProps = {
  readonly search: Filters;
  readonly onSearch: (patch: Partial<Filters>) => void;
  readonly isFiltered: boolean;
};

function DeliveryFilters({ search, onSearch, isFiltered }: DeliveryFiltersProps) {
  const { t } = useTranslation('webhooks');
  const { data: types = [] } = useQuery(typesQuery);
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={() => onSearch({ status: '', type: '', period: '', message: '' })}>
        <ChoiceFilter
          label={t('filter.status')}
          options={STATES.map((value) => ({ value, label: t(`deliveryState.${value}`) }))}
          value={search.status}
          onChange={(status) => onSearch({ status })}
        />
        <ChoiceFilter
          label={t('filter.kind')}
          options={types.map(({ type }) => ({ value: type, label: type }))}
          value={search.type}
          onChange={(type) => onSearch({ type })}
        />
        <ChoiceFilter
          label={t('filter.period')}
          options={PERIODS.map((value) => ({ value, label: t(`period.${value}`) }))}
          value={search.period}
          onChange={(period) => onSearch({ period })}
        />
        <SearchField
          label={t('filter.message')}
          value={search.message}
          onChange={(message) => onSearch({ message: message.trim() })}
        />
      </FilterBar>
      {search.message !== '' && !isMessageId(search.message) && (
        <Text size="xs" c="dimmed" role="status">
          {t('filter.messageHint')}
        </Text>
      )}
    </>
  );
}
