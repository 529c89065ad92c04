import { ListRestart, ScrollText } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { Section } from '../ui/section.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { type Delivery, KINDS, listDeliveries, PERIODS, STATES } from './delivery.ts';
import { useDeliveryColumns } from './delivery-columns.tsx';
import { DeliveryFilters } from './delivery-filters.tsx';
import { DeliveryPanel } from './delivery-panel.tsx';
import { ReplayButton } from './replay-button.tsx';
import { ReplayDialog } from './replay-dialog.tsx';
import { NEED } from './webhook.ts';

const FIELDS = {
  ...listFields('', 10),
  status: choice(STATES),
  kind: choice(KINDS),
  period: choice(PERIODS),
  message: text(),
  event: text(),
};
const REFRESH_MS = 5_000;

/** The log of all events. */
export function Deliveries({ isRegistered }: { readonly isRegistered: boolean }) {
  const { t } = useTranslation('webhooks');
  const [search, setSearch] = useUrlState(FIELDS);
  const [isReplaying, setIsReplaying] = useState(false);
  const columns = useDeliveryColumns((event) => setSearch({ event, page: search.page }));
  const { event, ...filters } = search;
  const query = useListQuery(['webhooks', 'deliveries', filters], (signal) => listDeliveries(filters, signal), {
    refetchInterval: REFRESH_MS,
  });
  const isFiltered = [search.status, search.kind, search.period, search.message].some((each) => each !== '');
  if (!isRegistered && !isFiltered && query.data?.total === 0) return null;
  const replay = (
    <GuardedButton
      need={NEED}
      reason={!isRegistered && t('replay.none')}
      variant="default"
      size="xs"
      leftSection={<ListRestart size={14} />}
      onClick={() => setIsReplaying(true)}
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
        actions={(delivery) => <ReplayButton delivery={delivery} isRegistered={isRegistered} />}
        empty={
          <EmptyState
            icon={ScrollText}
            title={t(isFiltered ? 'log.noMatch' : 'log.empty')}
            text={t(isFiltered ? 'log.noMatchText' : 'log.emptyText')}
          />
        }
      />
      <DeliveryPanel
        id={event === '' ? null : event}
        isRegistered={isRegistered}
        onClose={() => setSearch({ event: '', page: search.page })}
      />
      <ReplayDialog opened={isReplaying} onClose={() => setIsReplaying(false)} />
    </Section>
  );
}
