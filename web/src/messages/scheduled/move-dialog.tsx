import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { toIso } from '../../api/scheduled-date.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { ownZone } from '../../ui/time-zone/zones.ts';
import { useLast } from '../../ui/use-last.ts';
import { moveScheduled, type Scheduled, wallTimeOf } from './scheduled.ts';

type Props = { readonly message: Scheduled | null; readonly onClose: () => void };

/** Dialog that changes when a message is sent. */
export function MoveDialog({ message, onClose }: Props) {
  const { t } = useTranslation('messages');
  const shown = useLast(message);
  return (
    <Dialog
      opened={message !== null}
      onClose={onClose}
      title={t('scheduled.moveTitle', { destination: shown?.destination })}
    >
      {message && <MoveForm key={message.messageId} message={message} onClose={onClose} />}
    </Dialog>
  );
}

type FormProps = { readonly message: Scheduled; readonly onClose: () => void };

function MoveForm({ message: { messageId, scheduledDate }, onClose }: FormProps) {
  const { t } = useTranslation('messages');
  const form = useForm({
    initialValues: { scheduledDate: wallTimeOf(new Date(toIso(scheduledDate))) },
    validate: { scheduledDate: (value) => (Number.isNaN(Date.parse(value)) ? t('scheduled.missing') : null) },
  });
  const move = useAction({
    run: (values: typeof form.values) => moveScheduled(messageId, new Date(values.scheduledDate).toISOString()),
    refresh: [['scheduled'], ['message', messageId]],
    done: t('scheduled.moved'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => move.run(values))}
      action={t('scheduled.moveSubmit')}
      busy={move.busy}
      onClose={onClose}
      noValidate
    >
      <TextInput
        type="datetime-local"
        label={t('scheduled.at')}
        description={t('scheduled.moveHint', { zone: ownZone() })}
        data-autofocus
        {...form.getInputProps('scheduledDate')}
      />
    </DialogForm>
  );
}
