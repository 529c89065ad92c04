import { PasswordInput, Stack, TextInput, VisuallyHidden } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { NewPassword } from './new-password.tsx';
import { usePasswordFault } from './password-rules.ts';
import { USERS } from './user.ts';

const EMPTY = { currentPassword: '', newPassword: '', again: '' };

/** The form in which users of any role change their own password. */
export function OwnPassword() {
  const { t } = useTranslation('users');
  const { user, isElsewhere } = useSession();
  const faultOf = usePasswordFault();
  const form = useForm({
    initialValues: EMPTY,
    validate: {
      currentPassword: (given) => (given === '' ? t('own.currentMissing') : null),
      newPassword: (given) => faultOf(given, user.username),
      again: (given, { newPassword }) => (given === newPassword ? null : t('own.differs')),
    },
  });
  const change = useAction({
    run: ({ currentPassword, newPassword }: typeof EMPTY) =>
      ok(api.PUT(`${USERS}/me/password`, { body: { currentPassword, newPassword } })),
    form,
    refresh: [['sessions']],
    done: t('own.done'),
    onDone: form.reset,
  });
  return (
    <form onSubmit={form.onSubmit((values) => change.run(values))}>
      <Stack maw={420}>
        <VisuallyHidden>
          <TextInput
            label={t('column.username')}
            autoComplete="username"
            value={user.username}
            readOnly
            tabIndex={-1}
          />
        </VisuallyHidden>
        <PasswordInput
          label={t('own.current')}
          autoComplete="current-password"
          maxLength={200}
          visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
          {...form.getInputProps('currentPassword')}
        />
        <NewPassword label={t('password.new')} input={form.getInputProps('newPassword')} />
        <PasswordInput
          label={t('own.again')}
          autoComplete="new-password"
          maxLength={200}
          visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
          {...form.getInputProps('again')}
        />
        <GuardedButton
          type="submit"
          need={{ write: false }}
          reason={isElsewhere && t('own.elsewhere')}
          loading={change.busy}
          w="fit-content"
        >
          {t('own.submit')}
        </GuardedButton>
      </Stack>
    </form>
  );
}
