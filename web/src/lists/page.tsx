import { Checkbox } from '@mantine/core';
import { ListChecks, Pencil, SearchX, Trash2 } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { useListColumns } from './columns.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { FIELDS, type List, listLists, NEED, type Search } from './list.ts';
import { ListDialog } from './list-dialog.tsx';

type Open = { readonly what: 'save'; readonly list: List | 'new' } | { readonly what: 'delete'; readonly list: List };

/** The page of the account's contact lists. */
export function Page() {
  const { t } = useTranslation('lists');
  const [open, setOpen] = useState<Open | null>(null);
  const close = (): void => setOpen(null);
  const create = (
    <AddButton need={NEED} onClick={() => setOpen({ what: 'save', list: 'new' })}>
      {t('new')}
    </AddButton>
  );
  return (
    <Frame title={t('title')} description={t('text')} actions={create}>
      <Lists create={create} onOpen={setOpen} />
      <ListDialog list={open?.what === 'save' ? open.list : null} onClose={close} />
      <DeleteDialog list={open?.what === 'delete' ? open.list : null} onClose={close} />
    </Frame>
  );
}

type ListsProps = { readonly create: ReactNode; readonly onOpen: (open: Open) => void };

function Lists({ create, onOpen }: ListsProps) {
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
        actions={(list) => <Actions list={list} onOpen={onOpen} />}
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

function Actions({ list, onOpen }: { readonly list: List; readonly onOpen: (open: Open) => void }) {
  const { t } = useTranslation('lists');
  const reason = list.deletedAt !== null && t('isDeleted');
  const { name } = list;
  return (
    <>
      <GuardedIcon
        need={NEED}
        reason={reason}
        label={t('edit', { name })}
        onClick={() => onOpen({ what: 'save', list })}
      >
        <Pencil size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={reason}
        label={t('delete.label', { name })}
        onClick={() => onOpen({ what: 'delete', list })}
      >
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}
