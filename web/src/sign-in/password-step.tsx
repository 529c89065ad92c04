import { Button, Divider, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { canUsePasskeys } from '../api/passkey.ts';
import type { Session } from '../api/session.ts';
import { PasskeyButton } from './passkey-button.tsx';
import { Refused } from './refused.tsx';
import { type Credentials, isPending, type Pending, signIn, signInWithPasskey } from './requests.ts';

type PasswordStepProps = {
  readonly username: string;
  readonly onSignedIn: (session: Session) => void;
  readonly onPending: (pending: Pending) => void;
};

/** Asks for username and password, or for a passkey. */
export function PasswordStep({ username, onSignedIn, onPending }: PasswordStepProps) {
  const { t } = useTranslation('sign-in');
  const form = useForm<Credentials>({
    initialValues: { username, password: '' },
    validate: {
      username: (value) => (value.trim() === '' ? t('username.missing') : null),
      password: (value) => (value === '' ? t('password.missing') : null),
    },
  });
  const byPassword = useAction({
    run: signIn,
    quiet: true,
    signsIn: true,
    onDone: (answer) => (isPending(answer) ? onPending(answer) : onSignedIn(answer)),
  });
  const byPasskey = useAction({
    run: () => signInWithPasskey(null),
    quiet: true,
    signsIn: true,
    onDone: (session) => onSignedIn(session),
  });
  return (
    <Stack>
      <form
        onSubmit={form.onSubmit((values) => {
          byPasskey.reset();
          byPassword.run(values);
        })}
      >
        <Stack>
          <Refused error={byPassword.error} wrong={t('wrong')} />
          <TextInput
            label={t('username.label')}
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            {...form.getInputProps('username')}
          />
          <PasswordInput
            label={t('password.label')}
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
            {...(username !== '' && { 'data-autofocus': true })}
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={byPassword.busy} fullWidth>
            {t('submit')}
          </Button>
        </Stack>
      </form>
      {canUsePasskeys() && (
        <>
          <Divider label={t('or')} />
          <Refused error={byPasskey.error} wrong={t('passkey.wrong')} />
          <PasskeyButton
            busy={byPasskey.busy}
            onClick={() => {
              byPassword.reset();
              byPasskey.run();
            }}
          />
        </>
      )}
    </Stack>
  );
}
