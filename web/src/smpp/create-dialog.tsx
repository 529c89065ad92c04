import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { bodyOf, CREDENTIALS, NEW_SETTINGS, type Settings } from './credential.ts';
import { Issued } from './issued.tsx';
import { SettingsFields } from './settings-fields.tsx';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that creates a credential. Its password is shown once and forgotten when the dialog closes. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('smpp');
  const [isCreated, setCreated] = useState(false);
  const close = (): void => {
    setCreated(false);
    onClose();
  };
  return (
    <Dialog opened={opened} onClose={close} title={t('create.title')} locked={isCreated}>
      {opened && <Create onClose={close} onCreated={() => setCreated(true)} />}
    </Dialog>
  );
}

type CreateProps = Pick<CreateDialogProps, 'onClose'> & { readonly onCreated: () => void };

function Create({ onClose, onCreated }: CreateProps) {
  const { t } = useTranslation('smpp');
  const form = useForm<Settings>({
    initialValues: NEW_SETTINGS,
    validate: { name: (name) => (name.trim() === '' ? t('create.nameMissing') : null) },
  });
  const create = useAction({
    run: (settings: Settings) => ok(api.POST(CREDENTIALS, { body: bodyOf(settings) })),
    refresh: [['smpp']],
    form,
    onDone: onCreated,
  });
  if (create.result !== undefined) return <Issued credential={create.result} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <SettingsFields form={form} />
    </DialogForm>
  );
}
