import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { SlidersHorizontal } from 'lucide-react';

import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { OnDemand } from '../../ui/on-demand.tsx';
import { useIsPhone } from '../../ui/use-is-phone.ts';
import { listsQuery } from '../contact.ts';
import { isFiltered, NO_FILTERS, type Search, type SetSearch } from '../search.ts';
import { useNamedChannels } from './use-named-channels.ts';

const MoreFilters = lazyPart(() => import('./more-filters.tsx').then((file) => ({ default: file.MoreFilters })));

type FiltersProps = {
  readonly search: Search;
  readonly onSearch: SetSearch;
  /** True to show the list filter; the page of one list has none. */
  readonly hasLists: boolean;
};

/** The filters of the table. Less common ones are behind a button; on a phone, all but the search. */
export function Filters(props: FiltersProps) {
  const { search, onSearch } = props;
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  return (
    <FilterBar isFiltered={isFiltered(search)} onClear={() => onSearch(NO_FILTERS)}>
      <SearchField label={t('filter.search')} value={search.q} onChange={(q) => onSearch({ q })} />
      {!isPhone && <Common {...props} />}
      <More {...props} />
    </FilterBar>
  );
}

function Common({ search, onSearch, hasLists }: FiltersProps) {
  const { t } = useTranslation('contacts');
  const lists = useQuery({ ...listsQuery, enabled: hasLists });
  const named = useNamedChannels();
  return (
    <>
      {hasLists && (
        <ChoiceFilter
          label={t('filter.list')}
          options={(lists.data?.data ?? []).map(({ id, name }) => ({ value: String(id), label: name }))}
          value={search.list}
          onChange={(list) => onSearch({ list })}
        />
      )}
      <ChoiceFilter
        label={t('filter.optedOut')}
        options={[{ value: 'any', label: t('filter.optedOutAny') }, ...named('filter.optedOutOf')]}
        value={search.optedOut}
        onChange={(optedOut) => onSearch({ optedOut })}
      />
    </>
  );
}

function More(props: FiltersProps) {
  const { search, onSearch } = props;
  const { t } = useTranslation('contacts');
  const isPhone = useIsPhone();
  const set = [search.reach, search.valid, search.kind, search.from, search.to].filter((value) => value !== '').length;
  const button = (
    <Button variant="default" leftSection={<SlidersHorizontal size={16} />}>
      {set === 0 ? t('filter.more') : t('filter.moreSet', { count: set })}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <MoreFilters button={button} search={search} onSearch={onSearch}>
        {isPhone && <Common {...props} />}
      </MoreFilters>
    </OnDemand>
  );
}
