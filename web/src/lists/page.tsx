import { Checkbox, Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { ListChecks, Pencil, SearchX, Trash2 } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, PageFrame, TextLink, useLast } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { DateTime, Num, StatusBadge } from '../ui/values.tsx';

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
    <PageFrame title={t('title')} description={t('text')} actions={create}>
      <Lists create={create} onOpen={setOpen} />
      <ListDialog list={open?.what === 'save' ? open.list : null} onClose={close} />
      <DeleteDialog list={open?.what === 'delete' ? open.list : null} onClose={close} />
    </PageFrame>
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

type ListDialogProps = {
  /** `new`, the list to edit, or null if the dialog is closed. */
  readonly list: List | 'new' | null;
  readonly onClose: () => void;
};

/** Dialog that creates a list, or edits its name, description and kind. */
function ListDialog({ list, onClose }: ListDialogProps) {
  const { t } = useTranslation('lists');
  const shown = useLast(list);
  const title = shown === null || shown === 'new' ? t('new') : t('edit', { name: shown.name });
  return (
    <Dialog opened={list !== null} onClose={onClose} title={title}>
      {list && <ListForm list={list === 'new' ? null : list} onClose={onClose} />}
    </Dialog>
  );
}

type ListFormProps = { readonly list: List | null; readonly onClose: () => void };
type ListValues = Pick<List, 'name' | 'description' | 'isTest'>;

function ListForm({ list, onClose }: ListFormProps) {
  const { t } = useTranslation('lists');
  const form = useForm<ListValues>({
    initialValues: { name: list?.name ?? '', description: list?.description ?? '', isTest: list?.isTest ?? false },
    validate: { name: (name) => (name.trim() === '' ? t('nameMissing') : null) },
  });
  const save = useAction({
    run: (body: ListValues) =>
      list ? ok(api.PUT(`${LISTS}/{id}`, { params: { path: { id: list.id } }, body })) : ok(api.POST(LISTS, { body })),
    refresh: [['lists']],
    done: ({ name }) => t(list ? 'changed' : 'made', { name }),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={list ? t('ui:save') : t('make')}
      busy={save.busy}
      onClose={onClose}
    >
      <TextInput label={t('column.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
      <Textarea label={t('description')} maxLength={1000} autosize minRows={2} {...form.getInputProps('description')} />
      <Checkbox
        label={t('isTest')}
        description={t('isTestHint')}
        {...form.getInputProps('isTest', { type: 'checkbox' })}
      />
    </DialogForm>
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
        <TextLink to={`/lists/${id}`} fw={600} dir="auto" style={{ overflowWrap: 'anywhere' }}>
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

type DeleteDialogProps = { readonly list: List | null; readonly onClose: () => void };

/** Confirms that a list is deleted; null closes the dialog. */
function DeleteDialog({ list, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('lists');
  const format = useFormat();
  const shown = useLast(list);
  const name = shown?.name ?? '';
  const count = shown?.contactCount ?? 0;
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(LISTS, { params: { query: { ids: String(id) } } })),
    refresh: [['lists'], ['contacts', 'list']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={list !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => list && remove.run(list.id)}
      busy={remove.busy}
    >
      {t('delete.text', { count, shown: format.number(count) })}
    </ConfirmDialog>
  );
}
