import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { NETWORKS } from './sender.ts';

type Search = { readonly search: string; readonly channel: (typeof NETWORKS)[number] | '' };

type NetworkFiltersProps = {
  /** The label of the search field. */
  readonly label: string;
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  /** Additional filters of this list. */
  readonly children?: ReactNode;
  readonly isFiltered?: boolean;
  readonly onClear: () => void;
};

/** The filters by text and by network. */
export function NetworkFilters({ label, search, onSearch, isFiltered, onClear, children }: NetworkFiltersProps) {
  const { t } = useTranslation('operator');
  return (
    <FilterBar isFiltered={isFiltered || search.channel !== '' || search.search !== ''} onClear={onClear}>
      <SearchField label={label} value={search.search} onChange={(next) => onSearch({ search: next })} />
      <ChoiceFilter
        label={t('anyChannel')}
        options={NETWORKS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
        value={search.channel}
        onChange={(next) => onSearch({ channel: next })}
      />
      {children}
    </FilterBar>
  );
}
