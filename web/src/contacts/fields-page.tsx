import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Settings2, Trash2 } from 'lucide-react';
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable, type ListPage } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { MessageText } from '../ui/message.tsx';
import { EmptyState, PageFrame, useLast } from '../ui/parts.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { CONTACTS, type CustomField, fieldsQuery, NEED } from './contact.ts';

/** The open dialog and the item it is about. */
type OpenField = { readonly what: 'create' } | { readonly what: 'edit' | 'delete'; readonly field: CustomField } | null;

const PATH = `${CONTACTS}/fields` as const;
const REFRESH = [['contact-fields'], ['contacts']];
const TYPES = ['text', 'number', 'boolean', 'date'] as const;

type FieldActionsProps = { readonly field: CustomField; readonly onOpen: (open: OpenField) => void };

/** The actions for one custom field. */
function FieldActions({ field, onOpen }: FieldActionsProps) {
  const { t } = useTranslation('contacts');
  const { name } = field;
  return (
    <>
      <GuardedIcon need={NEED} label={t('fields.edit', { name })} onClick={() => onOpen({ what: 'edit', field })}>
        <Pencil size={16} />
      </GuardedIcon>
      <GuardedIcon need={NEED} label={t('fields.delete', { name })} onClick={() => onOpen({ what: 'delete', field })}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}

type FieldDialogProps = { readonly open: OpenField; readonly onClose: () => void };

/** Dialog that creates a custom field, or changes its name and description; null closes it. */
function FieldDialog({ open, onClose }: FieldDialogProps) {
  const { t } = useTranslation('contacts');
  const editing = open?.what === 'delete' ? null : open;
  const shown = useLast(editing);
  const field = shown?.what === 'edit' ? shown.field : null;
  return (
    <Dialog
      opened={editing !== null}
      onClose={onClose}
      title={field ? t('fields.edit', { name: field.name }) : t('fields.new')}
    >
      {editing && <FieldForm field={field} onClose={onClose} />}
    </Dialog>
  );
}

type FieldFormProps = { readonly field: CustomField | null; readonly onClose: () => void };
type FieldValues = Pick<CustomField, 'name' | 'type' | 'description'>;

function FieldForm({ field, onClose }: FieldFormProps) {
  const { t } = useTranslation('contacts');
  const form = useForm<FieldValues>({
    initialValues: { name: field?.name ?? '', type: field?.type ?? 'text', description: field?.description ?? '' },
    validate: { name: (name) => (name.trim() === '' ? t('fields.nameMissing') : null) },
  });
  const save = useAction({
    run: ({ name, type, description }: FieldValues) =>
      field
        ? ok(api.PUT(`${PATH}/{id}`, { params: { path: { id: field.id } }, body: { name, description } }))
        : ok(api.POST(PATH, { body: { name, type, description } })),
    refresh: REFRESH,
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={t('ui:save')}
      busy={save.busy}
      onClose={onClose}
    >
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
        disabled={field !== null}
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
    </DialogForm>
  );
}

type DeleteFieldProps = { readonly field: CustomField | null; readonly onClose: () => void };

/** Confirms that a custom field is deleted with all its values; null closes the dialog. */
function DeleteFieldDialog({ field, onClose }: DeleteFieldProps) {
  const { t } = useTranslation('contacts');
  const name = useLast(field)?.name ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${PATH}/{id}`, { params: { path: { id } } })),
    refresh: REFRESH,
    done: t('fields.deleted', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={field !== null}
      onClose={onClose}
      title={t('fields.deleteTitle', { name })}
      action={t('fields.deleteSubmit')}
      onConfirm={() => field && remove.run(field.id)}
      busy={remove.busy}
      typed={name}
    >
      {t('fields.deleteText', { name })}
    </ConfirmDialog>
  );
}

const FIELDS = listFields();
const MAX_FIELDS = 100;

/** The page of the account's custom fields. */
export function Page() {
  const { t } = useTranslation('contacts');
  const [open, setOpen] = useState<OpenField>(null);
  const fields = useQuery(fieldsQuery);
  const isFull = (fields.data?.length ?? 0) >= MAX_FIELDS;
  const close = (): void => setOpen(null);
  const create = (
    <AddButton
      need={NEED}
      reason={isFull && t('fields.full', { count: MAX_FIELDS })}
      onClick={() => setOpen({ what: 'create' })}
    >
      {t('fields.new')}
    </AddButton>
  );
  return (
    <PageFrame
      title={t('fields.title')}
      description={t('fields.text')}
      trail={[{ label: t('title'), to: '/contacts' }]}
      actions={create}
    >
      <FieldTable create={create} onOpen={setOpen} />
      <FieldDialog open={open} onClose={close} />
      <DeleteFieldDialog field={open?.what === 'delete' ? open.field : null} onClose={close} />
    </PageFrame>
  );
}

type FieldTableProps = {
  readonly create: ReactNode;
  readonly onOpen: (open: OpenField) => void;
};

function FieldTable({ create, onOpen }: FieldTableProps) {
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
      actions={(field) => <FieldActions field={field} onOpen={onOpen} />}
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
