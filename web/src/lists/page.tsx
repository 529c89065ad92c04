import { Checkbox, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { ListChecks, SearchX } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { AddButton, DeleteIcon, EditIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, PageFrame, TextLink } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { DateTime, Num, StatusBadge } from '../ui/values.tsx';

/** The page of the account's contact lists. */
export function Page() {
  const { t } = useTranslation('lists');
  const create = (
    <AddButton need={NEED} onClick={() => openDialog(<ListDialog />)}>
      {t('new')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('text')} actions={create}>
      <Lists create={create} />
    </PageFrame>
  );
}

function Lists({ create }: { readonly create: ReactNode }) {
  const { t } = useTranslation('lists');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useListColumns();
  const query = useListQuery(['lists', 'page', search], (signal) => listLists(search, signal));
  const filtered = search.q !== '' || search.kind !== '' || search.deleted !== '';
  return (
    <>
      {(filtered || query.data?.total !== 0) && <Filters search={search} onSearch={setSearch} />}
      <DataTable<List>
        id="lists"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(list) => <Actions list={list} />}
        empty={
          filtered ? (
            <EmptyState icon={SearchX} title={t('noMatch')} text={t('noMatchText')} />
          ) : (
            <EmptyState icon={ListChecks} title={t('empty')} text={t('emptyText')}>
              {create}
            </EmptyState>
          )
        }
      />
    </>
  );
}

type FiltersProps = { readonly search: Search; readonly onSearch: (patch: Partial<Search>) => void };

function Filters({ search, onSearch }: FiltersProps) {
  const { t } = useTranslation('lists');
  return (
    <FilterBar
      isFiltered={search.q !== '' || search.kind !== '' || search.deleted !== ''}
      onClear={() => onSearch({ q: '', kind: '', deleted: '' })}
    >
      <SearchField label={t('search')} value={search.q} onChange={(q) => onSearch({ q })} />
      <ChoiceFilter
        label={t('kind')}
        options={['test', 'live'].map((value) => ({ value, label: t(`kinds.${value}`) }))}
        value={search.kind}
        onChange={(kind) => onSearch({ kind })}
      />
      <Checkbox
        label={t('showDeleted')}
        checked={search.deleted === 'yes'}
        onChange={(event) => onSearch({ deleted: event.currentTarget.checked ? 'yes' : '' })}
        mb={8}
      />
    </FilterBar>
  );
}

function Actions({ list }: { readonly list: List }) {
  const { t } = useTranslation('lists');
  const format = useFormat();
  const { id, name, contactCount: count } = list;
  const reason = list.deletedAt !== null && t('isDeleted');
  return (
    <>
      <EditIcon need={NEED} reason={reason} label={t('edit', { name })} dialog={<ListDialog list={list} />} />
      <DeleteIcon
        need={NEED}
        reason={reason}
        label={t('delete.label', { name })}
        question={{
          ...questionTexts(t, 'delete', { name, count, shown: format.number(count) }),
          run: () => ok(api.DELETE(LISTS, { params: { query: { ids: String(id) } } })),
          refresh: [['lists'], ['contacts', 'list']],
        }}
      />
    </>
  );
}

/** Dialog that creates a list, or edits the name, description and kind of the given one. */
function ListDialog({ list }: { readonly list?: List }) {
  const { t } = useTranslation('lists');
  return (
    <FormDialog
      title={list ? t('edit', { name: list.name }) : t('new')}
      values={{ name: list?.name ?? '', description: list?.description ?? '', isTest: list?.isTest ?? false }}
      validate={{ name: (name) => (name.trim() === '' ? t('nameMissing') : null) }}
      run={(body) =>
        list ? ok(api.PUT(`${LISTS}/{id}`, { params: { path: { id: list.id } }, body })) : ok(api.POST(LISTS, { body }))
      }
      refresh={[['lists']]}
      done={({ name }) => t(list ? 'changed' : 'made', { name })}
      action={list ? t('ui:save') : t('make')}
    >
      {(form) => (
        <>
          <TextInput label={t('column.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
          <Textarea
            label={t('description')}
            maxLength={1000}
            autosize
            minRows={2}
            {...form.getInputProps('description')}
          />
          <Checkbox
            label={t('isTest')}
            description={t('isTestHint')}
            {...form.getInputProps('isTest', { type: 'checkbox' })}
          />
        </>
      )}
    </FormDialog>
  );
}

function useListColumns(): readonly Column<List>[] {
  const { t } = useTranslation('lists');
  return useMemo(
    () => [
      {
        id: 'name',
        header: t('column.name'),
        sortable: true,
        phone: 'title',
        cell: (list) => <Name list={list} />,
      },
      {
        id: 'contactCount',
        header: t('column.contactCount'),
        sortable: true,
        align: 'right',
        width: 130,
        cell: ({ contactCount }) => <Num value={contactCount} />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        width: 180,
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

function Name({ list: { id, name, description, isTest, deletedAt } }: { readonly list: List }) {
  const { t } = useTranslation('lists');
  return (
    <Stack gap={2}>
      <Group gap="xs">
        <TextLink to={`/lists/${id}`} fw={500} dir="auto" style={{ overflowWrap: 'anywhere' }}>
          {name}
        </TextLink>
        {isTest && <StatusBadge tone="neutral">{t('test')}</StatusBadge>}
        {deletedAt !== null && <StatusBadge tone="neutral">{t('deleted')}</StatusBadge>}
      </Group>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" dir="auto" lineClamp={2}>
          {description}
        </Text>
      )}
    </Stack>
  );
}

/** The permission that changes to lists require. */
const NEED: Need = { scope: 'contacts', write: true };

const LISTS = '/api/partner-gateway/v1/contacts/list';

/** The filters and the order in the URL. */
const FIELDS = {
  ...listFields('name'),
  q: text(),
  kind: choice(['test', 'live']),
  deleted: choice(['yes']),
};
type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];

const ORDERS = ['name', 'contactCount', 'createdAt'] as const;

const listLists = ({ page, limit, sort, q, kind, deleted }: Search, signal: AbortSignal) =>
  ok(
    api.GET(LISTS, {
      params: {
        query: {
          page,
          limit,
          search: q.trim() || undefined,
          isTest: kind === '' ? undefined : kind === 'test',
          includeDeleted: deleted === 'yes',
          sortBy: ORDERS.find((order) => order === sort.replace(/^-/, '')) ?? 'name',
          sortOrder: sort.startsWith('-') ? 'desc' : 'asc',
        },
      },
      signal,
    }),
  );

type List = Awaited<ReturnType<typeof listLists>>['data'][number];
