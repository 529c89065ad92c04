import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { useLast } from '../ui/use-last.ts';
import { bodyOf, type Credential, CREDENTIALS, nameOf, type Settings, settingsOf } from './credential.ts';
import { SettingsFields } from './settings-fields.tsx';

type ChangeDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Dialog that changes a credential; null closes it. */
export function ChangeDialog({ credential, onClose }: ChangeDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const title = t('change.title', { name: shown ? nameOf(shown) : '' });
  return (
    <Dialog opened={credential !== null} onClose={onClose} title={title}>
      {credential && <Change credential={credential} onClose={onClose} />}
    </Dialog>
  );
}

function Change({ credential, onClose }: { readonly credential: Credential; readonly onClose: () => void }) {
  const { t } = useTranslation('smpp');
  const { id } = credential;
  const form = useForm<Settings>({ initialValues: settingsOf(credential) });
  const change = useAction({
    run: (settings: Settings) =>
      ok(api.PATCH(`${CREDENTIALS}/{id}`, { params: { path: { id } }, body: bodyOf(settings) })),
    refresh: [['smpp']],
    done: t('change.done', { name: nameOf(credential) }),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => change.run(values))}
      action={t('ui:save')}
      busy={change.busy}
      onClose={onClose}
    >
      <SettingsFields form={form} />
    </DialogForm>
  );
}
