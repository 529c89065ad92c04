import { Checkbox, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { useLast } from '../ui/use-last.ts';
import { type List, LISTS } from './list.ts';

type ListDialogProps = {
  /** `new`, the list to edit, or null if the dialog is closed. */
  readonly list: List | 'new' | null;
  readonly onClose: () => void;
};

/** Dialog that creates a list, or edits its name, description and kind. */
export function ListDialog({ list, onClose }: ListDialogProps) {
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
