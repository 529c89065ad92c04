import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { NewPassword } from './new-password.tsx';
import { PasswordOnce } from './password-once.tsx';
import { usePasswordFault } from './password-rules.ts';
import { RoleChoice } from './role-choice.tsx';
import { type Role, USERS } from './user.ts';

type CreateDialogProps = { readonly opened: boolean; readonly onClose: () => void };
type NewUser = { readonly username: string; readonly password: string; readonly role: Role };

/** Dialog that adds a user and then shows the password once, so that it can be passed on. */
export function CreateDialog({ opened, onClose }: CreateDialogProps) {
  const { t } = useTranslation('users');
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
  const { t } = useTranslation('users');
  const form = useNewUser();
  const create = useAction({
    run: (body: NewUser) => ok(api.POST(USERS, { body })),
    refresh: [['users'], ['audit']],
    form,
    onDone: onCreated,
  });
  if (create.result !== undefined)
    return <PasswordOnce username={create.result.username} password={form.getValues().password} onClose={onClose} />;
  const isTaken = create.error instanceof ApiError && create.error.status === 409;
  const name = form.getInputProps('username');
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('create.submit')}
      busy={create.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('column.username')}
        description={t('create.usernameHint')}
        autoCapitalize="none"
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        data-autofocus
        {...name}
        error={name.error ?? (isTaken ? t('create.taken') : undefined)}
      />
      <NewPassword
        label={t('password.of')}
        input={form.getInputProps('password')}
        onSuggest={(password) => form.setFieldValue('password', password)}
      />
      <RoleChoice {...form.getInputProps('role')} />
    </DialogForm>
  );
}

const NAME = /^[a-z0-9][a-z0-9._@+-]*$/;

function useNewUser() {
  const { t } = useTranslation('users');
  const faultOf = usePasswordFault();
  return useForm<NewUser>({
    initialValues: { username: '', password: '', role: 'sender' },
    validate: {
      username: (username) => (NAME.test(username) ? null : t('create.usernameWrong')),
      password: (password, { username }) => faultOf(password, username),
    },
  });
}
