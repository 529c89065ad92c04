import { Group, Stack } from '@mantine/core';
import { SearchX } from 'lucide-react';
import { useState } from 'react';
import { ContactSearch } from '../ui/contact-search.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { SavedViews } from '../ui/saved-views/saved-views.tsx';
import { Section } from '../ui/section.tsx';
import { ColumnChoice } from '../ui/table/column-choice.tsx';
import { type Column, DataTable, type ListPage } from '../ui/table/data-table.tsx';
import { useRowSelection } from '../ui/table/row-selection.tsx';
import { VirtualTable } from '../ui/table/virtual-table.tsx';
import { TimeZoneField } from '../ui/time-zone/time-zone-field.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { Num } from '../ui/values/num.tsx';

type Row = { readonly id: string; readonly name: string; readonly number: string; readonly count: number };

const rowAt = (n: number): Row => ({
  id: `${n}`,
  name: `Contact ${n}`,
  number: `+39333${1_000_000 + n}`,
  count: n * 7,
});
const ROWS = Array.from({ length: 5 }, (_, n) => rowAt(n));
const COLUMNS: readonly Column<Row>[] = [
  { id: 'name', header: 'Name', cell: ({ name }) => name, sortable: true, phone: 'title' },
  { id: 'number', header: 'Number', cell: ({ number }) => <MsisdnText number={number} /> },
  { id: 'count', header: 'Messages', cell: ({ count }) => <Num value={count} />, align: 'right' },
];
const NONE = <EmptyState icon={SearchX} title="Nothing found" />;

type Answer = { readonly data: ListPage<Row> | undefined; readonly error: Error | null; readonly isPending: boolean };
const page = (data: readonly Row[]): Answer => ({
  data: { data, page: 0, limit: 25, total: data.length * 20 },
  error: null,
  isPending: false,
});
const STATES: Readonly<Record<string, Answer>> = {
  rows: page(ROWS),
  empty: page([]),
  loading: { data: undefined, error: null, isPending: true },
  error: { data: undefined, error: new Error('The list could not be read.'), isPending: false },
};

/** Tables in their states, filters, and fields that search. */
export const Lists = () => (
  <>
    <Section title="Tables">
      <Stack>
        {Object.entries(STATES).map(([state, answer]) => (
          <TableOf key={state} state={state} answer={answer} />
        ))}
      </Stack>
    </Section>
    <Section title="A table of any length" description="VirtualTable fetches the rows that come into view.">
      <VirtualTable
        label="Many rows"
        columns={COLUMNS}
        queryKey={['gallery']}
        fetchPage={async ({ page: at, limit }) => ({
          data: Array.from({ length: limit }, (_, n) => rowAt(at * limit + n)),
          page: at,
          limit,
          total: 100_000,
        })}
        rowId={({ id }) => id}
        empty={NONE}
        height="240px"
      />
    </Section>
    <Filters />
  </>
);

function TableOf({ state, answer }: { readonly state: string; readonly answer: Answer }) {
  const [selected, onSelect] = useState<ReadonlySet<string>>(new Set(['1']));
  const selection = useRowSelection({ shown: ROWS.map(({ id }) => id), selected, onSelect });
  return (
    <DataTable
      id={`gallery-${state}`}
      label={state}
      columns={COLUMNS}
      query={{ ...answer, isFetching: false, refetch: () => undefined }}
      rowId={({ id }) => id}
      search={{ page: 0, limit: 25, sort: 'name' }}
      onSearch={() => undefined}
      empty={NONE}
      {...(state === 'rows' && { selection })}
    />
  );
}

function Filters() {
  const [text, setText] = useState('');
  const [choice, setChoice] = useState('');
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const [zone, setZone] = useState<string | null>('Europe/Rome');
  return (
    <Section title="Filters and searches">
      <Stack>
        <FilterBar isFiltered={text !== '' || choice !== ''} onClear={() => setText('')}>
          <SearchField label="Search" value={text} onChange={setText} />
          <ChoiceFilter
            label="Channel"
            options={[{ value: 'SMS', label: 'SMS' }]}
            value={choice}
            onChange={setChoice}
          />
        </FilterBar>
        <Group>
          <SavedViews isFiltered />
          <ColumnChoice columns={COLUMNS} hidden={hidden} setHidden={setHidden} />
        </Group>
        <TimeZoneField label="Time zone" value={zone} onChange={setZone} maw={360} />
        <ContactSearch chosen={[]} onChoose={() => undefined} />
      </Stack>
    </Section>
  );
}
