import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { peopleQuery } from '../api/people.ts';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { STATES } from './api-key.ts';

type Filters = { readonly person: string; readonly status: (typeof STATES)[number] | '' };
type KeyFiltersProps = { readonly filters: Filters; readonly onChange: (patch: Partial<Filters>) => void };

export function KeyFilters({ filters: { person, status }, onChange }: KeyFiltersProps) {
  const { t } = useTranslation('api-keys');
  const { data: people = [] } = useQuery(peopleQuery);
  return (
    <FilterBar isFiltered={person !== '' || status !== ''} onClear={() => onChange({ person: '', status: '' })}>
      <ChoiceFilter
        label={t('filter.anyone')}
        options={people.map(({ id, username }) => ({ value: String(id), label: username }))}
        value={person}
        onChange={(next) => onChange({ person: next })}
      />
      <ChoiceFilter
        label={t('filter.anyStatus')}
        options={STATES.map((value) => ({ value, label: t(`status.${value}`) }))}
        value={status}
        onChange={(next) => onChange({ status: next })}
      />
    </FilterBar>
  );
}
