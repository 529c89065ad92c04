import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Settings2 } from 'lucide-react';
import { type ReactNode, useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, EditIcon } from '../ui/actions.tsx';
import { type Column, DataTable, type ListPage } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { MessageText } from '../ui/message.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { CONTACTS, type CustomField, fieldsQuery, NEED } from './contact.ts';

const PATH = `${CONTACTS}/fields` as const;
const REFRESH = [['contact-fields'], ['contacts']];
const TYPES = ['text', 'number', 'boolean', 'date'] as const;

/** The actions for one custom field. */
function FieldActions({ field }: { readonly field: CustomField }) {
  const { t } = useTranslation('contacts');
  const { id, name } = field;
  return (
    <>
      <EditIcon need={NEED} label={t('fields.edit', { name })} dialog={<FieldDialog field={field} />} />
      <DeleteIcon
        need={NEED}
        label={t('fields.delete', { name })}
        question={{
          title: t('fields.deleteTitle', { name }),
          text: t('fields.deleteText', { name }),
          action: t('fields.deleteSubmit'),
          typed: name,
          run: () => ok(api.DELETE(`${PATH}/{id}`, { params: { path: { id } } })),
          refresh: REFRESH,
          done: t('fields.deleted', { name }),
        }}
      />
    </>
  );
}

/** Dialog that creates a custom field, or changes the name and description of the given one. */
function FieldDialog({ field }: { readonly field?: CustomField }) {
  const { t } = useTranslation('contacts');
  return (
    <FormDialog<Pick<CustomField, 'name' | 'type' | 'description'>, unknown>
      title={field ? t('fields.edit', { name: field.name }) : t('fields.new')}
      values={{ name: field?.name ?? '', type: field?.type ?? 'text', description: field?.description ?? '' }}
      validate={{ name: (name) => (name.trim() === '' ? t('fields.nameMissing') : null) }}
      run={({ name, type, description }) =>
        field
          ? ok(api.PUT(`${PATH}/{id}`, { params: { path: { id: field.id } }, body: { name, description } }))
          : ok(api.POST(PATH, { body: { name, type, description } }))
      }
      refresh={REFRESH}
      action={t('ui:save')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('fields.name')}
            description={t('fields.nameHint')}
            maxLength={63}
            data-autofocus
            {...form.getInputProps('name')}
          />
          <NativeSelect
            label={t('fields.type')}
            description={t('fields.typeHint')}
            disabled={field !== undefined}
            data={TYPES.map((value) => ({ value, label: t(`fields.types.${value}`) }))}
            {...form.getInputProps('type')}
          />
          <Textarea
            label={t('fields.description')}
            maxLength={1000}
            autosize
            minRows={2}
            {...form.getInputProps('description')}
          />
        </>
      )}
    </FormDialog>
  );
}

const FIELDS = listFields();
const MAX_FIELDS = 100;

/** The page of the account's custom fields. */
export function Page() {
  const { t } = useTranslation('contacts');
  const fields = useQuery(fieldsQuery);
  const isFull = (fields.data?.length ?? 0) >= MAX_FIELDS;
  const create = (
    <AddButton
      need={NEED}
      reason={isFull && t('fields.full', { count: MAX_FIELDS })}
      onClick={() => openDialog(<FieldDialog />)}
    >
      {t('fields.new')}
    </AddButton>
  );
  return (
    <PageFrame title={t('fields.title')} description={t('fields.text')} actions={create}>
      <FieldTable create={create} />
    </PageFrame>
  );
}

function FieldTable({ create }: { readonly create: ReactNode }) {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(FIELDS);
  const { page, limit } = search;
  const columns = useColumns();
  // The server returns all fields in one response; they are paged here.
  const pageOf = useCallback(
    (fields: readonly CustomField[]): ListPage<CustomField> => ({
      data: fields.slice(page * limit, (page + 1) * limit),
      page,
      limit,
      total: fields.length,
    }),
    [page, limit],
  );
  const query = useQuery({ ...fieldsQuery, select: pageOf });
  return (
    <DataTable<CustomField>
      id="contact-fields"
      label={t('fields.title')}
      columns={columns}
      query={query}
      rowId={({ id }) => String(id)}
      search={search}
      onSearch={setSearch}
      actions={(field) => <FieldActions field={field} />}
      empty={
        <EmptyState icon={Settings2} title={t('fields.empty')} text={t('fields.emptyText')}>
          {create}
        </EmptyState>
      }
    />
  );
}

function useColumns(): readonly Column<CustomField>[] {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      { id: 'name', header: t('fields.name'), phone: 'title', cell: ({ name }) => name },
      { id: 'type', header: t('fields.type'), cell: ({ type }) => t(`fields.types.${type}`) },
      {
        id: 'description',
        header: t('fields.description'),
        cell: ({ description }) => <MessageText text={description || '–'} lines={2} />,
      },
      {
        id: 'placeholder',
        header: t('fields.placeholder'),
        cell: ({ name }) => <code>{`{{${name}}}`}</code>,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        phone: 'none',
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}
