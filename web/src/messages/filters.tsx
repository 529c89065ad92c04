import { NativeSelect } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { CHANNELS, type Filters, RANGES, SOURCES, STATUSES } from './message.ts';

const NONE: Filters = { q: '', channel: '', status: '', source: '', campaign: '', days: '7' };

/** Returns true if a filter is set. The time range does not count, because there is always one. */
export const isFiltered = ({ q, channel, status, source, campaign }: Filters): boolean =>
  [q, channel, status, source, campaign].some((value) => value !== '');

type Props = {
  readonly filters: Filters;
  readonly onChange: (patch: Partial<Filters>) => void;
};

export function MessageFilters({ filters, onChange }: Props) {
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
