import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { NETWORKS } from './sender.ts';

type Search = { readonly search: string; readonly channel: (typeof NETWORKS)[number] | '' };

type NetworkFiltersProps = {
  /** Of the field for a text. */
  readonly label: string;
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  /** Filters of this list alone, and whether one of them is set. */
  readonly children?: ReactNode;
  readonly isFiltered?: boolean;
  readonly onClear: () => void;
};

/** What is of WhatsApp or of RCS, by a text and by its network. */
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
