import { Group, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { ChoiceFilter, FilterBar, SearchField } from '../../ui/filter-bar.tsx';
import { choice, listFields, text } from '../../ui/url-state.ts';
import { type CampaignQuery, MODES } from '../campaign.ts';
import { modeName } from '../mode-name.ts';

const STATES = ['DRAFT', 'READY', 'SCHEDULED', 'SENDING', 'COMPLETED', 'FAILED'] as const;

export const LIST_FIELDS = {
  ...listFields('-createdAt'),
  q: text(),
  state: choice(STATES),
  mode: choice(MODES),
  from: text(),
  to: text(),
};

type Search = {
  readonly page: number;
  readonly limit: number;
  readonly sort: string;
  readonly q: string;
  readonly state: (typeof STATES)[number] | '';
  readonly mode: (typeof MODES)[number] | '';
  readonly from: string;
  readonly to: string;
};

export const NO_FILTERS = { q: '', state: '', mode: '', from: '', to: '' } as const;

export const isFiltered = (search: Search): boolean =>
  [search.q, search.state, search.mode, search.from, search.to].some((value) => value !== '');

/** The server's filters for each status. READY and SCHEDULED are both status 1 and differ in `isProgrammed`. */
const BY_STATE: Readonly<Record<(typeof STATES)[number], CampaignQuery>> = {
  DRAFT: { status: '0' },
  READY: { status: '1', isProgrammed: false },
  SCHEDULED: { status: '1', isProgrammed: true },
  SENDING: { status: '2' },
  COMPLETED: { status: '3' },
  FAILED: { status: '4' },
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The server's date filter, which needs both days or none: an open end is set far in the past or future. */
function windowOf({ from, to }: Pick<Search, 'from' | 'to'>): CampaignQuery {
  const [first, last] = [DAY.test(from), DAY.test(to)];
  if (!first && !last) return {};
  return { startDate: first ? from : '2000-01-01', endDate: last ? to : '2999-12-31' };
}

export const queryOf = (search: Search): CampaignQuery => ({
  page: search.page,
  limit: search.limit,
  direction: search.sort === 'createdAt' ? 'ASC' : 'DESC',
  ...(search.q && { search: search.q }),
  ...(search.mode && { sendingMode: search.mode }),
  ...(search.state && BY_STATE[search.state]),
  ...windowOf(search),
});

type FiltersProps = {
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  readonly onClear: () => void;
};

export function Filters({ search, onSearch, onClear }: FiltersProps) {
  const { t } = useTranslation('campaigns');
  return (
    <FilterBar isFiltered={isFiltered(search)} onClear={onClear}>
      <SearchField label={t('filter.search')} value={search.q} onChange={(q) => onSearch({ q })} />
      <ChoiceFilter
        label={t('filter.state')}
        options={STATES.map((value) => ({ value, label: t(`ui:campaignStatus.${value}`) }))}
        value={search.state}
        onChange={(state) => onSearch({ state })}
      />
      <ChoiceFilter
        label={t('filter.mode')}
        options={MODES.map((value) => ({ value, label: modeName(t, value) }))}
        value={search.mode}
        onChange={(mode) => onSearch({ mode })}
      />
      <Days search={search} onSearch={onSearch} />
    </FilterBar>
  );
}

function Days({ search, onSearch }: Omit<FiltersProps, 'onClear'>) {
  const { t } = useTranslation('campaigns');
  return (
    <Group gap="xs" wrap="nowrap" w={{ base: '100%', xs: 'auto' }}>
      {(['from', 'to'] as const).map((end) => (
        <TextInput
          key={end}
          type="date"
          aria-label={t(`filter.${end}`)}
          leftSection={
            <Text size="xs" c="dimmed" aria-hidden="true">
              {t(`filter.${end}Short`)}
            </Text>
          }
          leftSectionWidth={46}
          value={search[end]}
          onChange={(event) => onSearch({ [end]: event.currentTarget.value })}
          style={{ flex: '1 1 0' }}
          miw={150}
        />
      ))}
    </Group>
  );
}
