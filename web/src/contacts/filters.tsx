import { Button, Popover, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { SlidersHorizontal } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { CHANNELS, listsQuery } from './contact.ts';
import { isFiltered, NO_FILTERS, type Search, type SetSearch } from './search.ts';

type FiltersProps = {
  readonly search: Search;
  readonly onSearch: SetSearch;
  /** On the page of one list there is no other to choose. */
  readonly hasLists: boolean;
};

/** What narrows the table down; the less common filters stand behind a button, on a phone all but the search. */
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

/** The channels as choices, each in a sentence. */
function useNamedChannels() {
  const { t } = useTranslation('contacts');
  return (key: string) => CHANNELS.map((value) => ({ value, label: t(key, { channel: t(`ui:channel.${value}`) }) }));
}

function More(props: FiltersProps) {
  const { search, onSearch } = props;
  const { t } = useTranslation('contacts');
  const named = useNamedChannels();
  const isPhone = useIsPhone();
  const set = [search.reach, search.valid, search.kind, search.from, search.to].filter((value) => value !== '').length;
  return (
    <Popover position="bottom-start" shadow="md" trapFocus width={300}>
      <Popover.Target>
        <Button variant="default" leftSection={<SlidersHorizontal size={16} />}>
          {set === 0 ? t('filter.more') : t('filter.moreSet', { count: set })}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('filter.more')}>
        <Stack gap="sm">
          {isPhone && <Common {...props} />}
          <ChoiceFilter
            label={t('filter.reach')}
            options={named('filter.reachOn')}
            value={search.reach}
            onChange={(reach) => onSearch({ reach })}
          />
          <ChoiceFilter
            label={t('filter.valid')}
            options={['yes', 'no'].map((value) => ({ value, label: t(`filter.validIs.${value}`) }))}
            value={search.valid}
            onChange={(valid) => onSearch({ valid })}
          />
          <ChoiceFilter
            label={t('filter.kind')}
            options={['test', 'live'].map((value) => ({ value, label: t(`filter.kindIs.${value}`) }))}
            value={search.kind}
            onChange={(kind) => onSearch({ kind })}
          />
          {(['from', 'to'] as const).map((end) => (
            <TextInput
              key={end}
              type="date"
              label={t(`filter.${end}`)}
              value={search[end]}
              onChange={(event) => onSearch({ [end]: event.currentTarget.value })}
            />
          ))}
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
