import { NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { Pencil, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { useLast } from '../../ui/use-last.ts';
import { CONTACTS, type CustomField, NEED } from '../contact.ts';

/** The open dialog and the item it is about. */
export type OpenField =
  | { readonly what: 'create' }
  | { readonly what: 'edit' | 'delete'; readonly field: CustomField }
  | null;

const PATH = `${CONTACTS}/fields` as const;
const REFRESH = [['contact-fields'], ['contacts']];
const TYPES = ['text', 'number', 'boolean', 'date'] as const;

type FieldActionsProps = { readonly field: CustomField; readonly onOpen: (open: OpenField) => void };

/** The actions for one custom field. */
export function FieldActions({ field, onOpen }: FieldActionsProps) {
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
export function FieldDialog({ open, onClose }: FieldDialogProps) {
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
export function DeleteFieldDialog({ field, onClose }: DeleteFieldProps) {
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
