import { Button, PasswordInput, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { hasFault, Problem } from './frame.tsx';

/** The server's minimum length of a password. */
const MIN_LENGTH = 12;

type PasswordFormProps = {
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  /** The text for a link that is not valid any more. */
  readonly ended: string;
  readonly onSubmit: (password: string) => void;
};

/** The form for a new password, entered twice. */
export function PasswordForm({ action, busy, error, ended, onSubmit }: PasswordFormProps) {
  const { t } = useTranslation('account-links');
  const form = useForm({
    initialValues: { password: '', again: '' },
    validate: {
      password: (value) => (value.length < MIN_LENGTH ? t('password.short', { count: MIN_LENGTH }) : null),
      again: (value, { password }) => (value === password ? null : t('password.differs')),
    },
  });
  // The server checks two things of a password: its length, as this form does, and that it is not the username.
  const isUsername = hasFault(error, 'password');
  const input = form.getInputProps('password');
  const shown = { 'aria-label': t('password.show') };
  return (
    <form onSubmit={form.onSubmit(({ password }) => onSubmit(password))}>
      <Stack>
        {!isUsername && <Problem error={error} ended={ended} />}
        <PasswordInput
          label={t('password.label')}
          description={t('password.hint', { count: MIN_LENGTH })}
          autoComplete="new-password"
          maxLength={200}
          visibilityToggleButtonProps={shown}
          {...input}
          error={input.error ?? (isUsername && t('password.isUsername'))}
        />
        <PasswordInput
          label={t('password.again')}
          autoComplete="new-password"
          maxLength={200}
          visibilityToggleButtonProps={shown}
          {...form.getInputProps('again')}
        />
        <Button type="submit" loading={busy} fullWidth>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
