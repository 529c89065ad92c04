import { Checkbox, FileInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { ConnectionChoice } from './connection-choice.tsx';
import { COST_KEYS, COSTS } from './cost.ts';

type ImportProps = { readonly onClose: () => void };

/** Dialog that imports the price list of a carrier, from a CSV file. */
export function ImportDialog({ onClose }: ImportProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('cost.import.title')} size="md">
      <Import onClose={onClose} />
    </Dialog>
  );
}

type List = { readonly connection: string; readonly file: File | null; readonly replace: boolean };

function Import({ onClose }: ImportProps) {
  const { t } = useTranslation('operator');
  const form = useForm<List>({
    initialValues: { connection: '', file: null, replace: false },
    validate: {
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
      file: (file) => (file === null ? t('cost.import.fileMissing') : null),
    },
  });
  const importing = useAction({
    run: async ({ connection, file, replace }: List) => {
      const csv = (await file?.text()) ?? '';
      return ok(api.POST(`${COSTS}/import`, { body: { connection, csv, replace } }));
    },
    refresh: COST_KEYS,
    done: t('cost.import.done'),
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => importing.run(values))}
      action={t('cost.import.submit')}
      busy={importing.busy}
      onClose={onClose}
    >
      <ConnectionChoice {...form.getInputProps('connection')} />
      <FileInput
        label={t('cost.import.file')}
        description={t('cost.import.fileHint')}
        accept=".csv,.txt,text/csv"
        {...form.getInputProps('file')}
      />
      <Checkbox
        label={t('cost.import.replace')}
        description={t('cost.import.replaceHint')}
        {...form.getInputProps('replace', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}
