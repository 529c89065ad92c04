import { useTranslation } from 'react-i18next';
import { Text } from '@mantine/core';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { isMessageId, KINDS, PERIODS, STATES } from './delivery.ts';

type Filters = {
  readonly status: (typeof STATES)[number] | '';
  readonly kind: (typeof KINDS)[number] | '';
  readonly period: (typeof PERIODS)[number] | '';
  readonly message: string;
};
type DeliveryFiltersProps = {
  readonly search: Filters;
  readonly onSearch: (patch: Partial<Filters>) => void;
  readonly isFiltered: boolean;
};

/** The filters of the event log. */
export function DeliveryFilters({ search, onSearch, isFiltered }: DeliveryFiltersProps) {
  const { t } = useTranslation('webhooks');
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={() => onSearch({ status: '', kind: '', period: '', message: '' })}>
        <ChoiceFilter
          label={t('filter.status')}
          options={STATES.map((value) => ({ value, label: t(`deliveryState.${value}`) }))}
          value={search.status}
          onChange={(status) => onSearch({ status })}
        />
        <ChoiceFilter
          label={t('filter.kind')}
          options={KINDS.map((value) => ({ value, label: t(`kind.${value}`) }))}
          value={search.kind}
          onChange={(kind) => onSearch({ kind })}
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
