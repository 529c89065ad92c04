import { Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { useLast } from '../ui/use-last.ts';
import { NewPassword } from './new-password.tsx';
import { PasswordOnce } from './password-once.tsx';
import { usePasswordFault } from './password-rules.ts';
import { type User, USERS } from './user.ts';

type PasswordDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Dialog that sets a new password for another user; null closes it. */
export function PasswordDialog({ user, onClose }: PasswordDialogProps) {
  const { t } = useTranslation('users');
  const shown = useLast(user);
  const [isReset, setReset] = useState(false);
  const close = (): void => {
    setReset(false);
    onClose();
  };
  return (
    <Dialog
      opened={user !== null}
      onClose={close}
      title={t('password.title', { username: shown?.username ?? '' })}
      locked={isReset}
    >
      {user && <Reset user={user} onClose={close} onReset={() => setReset(true)} />}
    </Dialog>
  );
}

type ResetProps = { readonly user: User; readonly onClose: () => void; readonly onReset: () => void };

function Reset({ user: { id, username }, onClose, onReset }: ResetProps) {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  const form = useForm({
    initialValues: { password: '' },
    validate: { password: (password) => faultOf(password, username) },
  });
  const reset = useAction({
    run: (body: { password: string }) => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id } }, body })),
    refresh: [['sessions'], ['audit']],
    form,
    onDone: onReset,
  });
  if (reset.result !== undefined)
    return <PasswordOnce username={username} password={form.getValues().password} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => reset.run(values))}
      action={t('password.submit')}
      busy={reset.busy}
      onClose={onClose}
    >
      <Text size="sm">{t('password.text', { username })}</Text>
      <NewPassword
        label={t('password.new')}
        input={form.getInputProps('password')}
        onSuggest={(password) => form.setFieldValue('password', password)}
      />
    </DialogForm>
  );
}
