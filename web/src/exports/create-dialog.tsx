import { Radio, SimpleGrid, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { ContactFields, HistoryFields, ReportFields } from './draft-fields.tsx';
import { type Draft, newDraft, requestExport } from './draft.ts';
import { FORMATS, formatKey, TYPES } from './export.ts';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that requests an export. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('exports');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('create.title')}>
      {opened && <Create onClose={onClose} />}
    </Dialog>
  );
}

const FIELDS_OF = { HISTORY: HistoryFields, CONTACTS: ContactFields, DELIVERY_REPORTS: ReportFields } as const;

function Create({ onClose }: Pick<CreateDialogProps, 'onClose'>) {
  const { t } = useTranslation('exports');
  const form = useForm<Draft>({ initialValues: newDraft(), validate: faultsOf(t('create.dayMissing')) });
  const create = useAction({
    run: requestExport,
    refresh: [['exports']],
    form,
    done: t('create.done'),
    onDone: onClose,
  });
  const Fields = FIELDS_OF[form.values.type];
  return (
    <DialogForm
      onSubmit={form.onSubmit((draft) => create.run(draft))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <Radio.Group label={t('create.what')} {...form.getInputProps('type')}>
        <Stack gap="xs" mt="xs">
          {TYPES.map((type) => (
            <Radio key={type} value={type} label={t(`type.${type}`)} description={t(`typeText.${type}`)} />
          ))}
        </Stack>
      </Radio.Group>
      <Fields form={form} />
      <Radio.Group label={t('column.format')} {...form.getInputProps('format')}>
        <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs">
          {FORMATS.map((format) => (
            <Radio
              key={format}
              value={format}
              label={t(`format.${formatKey(format)}`)}
              description={t(`formatText.${formatKey(format)}`)}
            />
          ))}
        </SimpleGrid>
      </Radio.Group>
    </DialogForm>
  );
}

/** Returns the missing dates, which are required when messages are chosen by date. */
function faultsOf(missing: string) {
  const day = (value: string, { type, campaignId }: Draft): string | null =>
    type !== 'CONTACTS' && campaignId === '' && value === '' ? missing : null;
  return { startDateTime: day, endDateTime: day };
}
