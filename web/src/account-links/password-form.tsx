import { Alert, Button, Center, Paper, PasswordInput, Stack, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { type ReactNode, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useProblemText } from '../api/passkey.ts';
import { ApiError } from '../api/send.ts';
import icon from '../ui/icon.svg';
import { TextLink } from '../ui/parts.tsx';

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

/** The frame of a page that people open before they are signed in. */
export function Frame({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  const { t } = useTranslation('account-links');
  useEffect(() => {
    document.title = `${title} · Heliograph`;
  }, [title]);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper w="100%" maw={420} p="xl" shadow="sm">
        <Stack gap="lg">
          <Stack gap="xs" align="center">
            <img src={icon} alt="" width={44} height={44} />
            <Title order={1} ta="center">
              {title}
            </Title>
          </Stack>
          {children}
          <TextLink to="/sign-in" ta="center">
            {t('toSignIn')}
          </TextLink>
        </Stack>
      </Paper>
    </Center>
  );
}

/** Returns true if the server rejected this field of a request. */
const hasFault = (error: unknown, field: 'token' | 'password'): boolean =>
  error instanceof ApiError && error.details.some((fault) => fault.field === field);

type ProblemProps = {
  readonly error: unknown;
  /** The text for a link that is not valid any more. */
  readonly ended?: string;
};

/** The error of the form on such a page; nothing if there is none. */
export function Problem({ error, ended }: ProblemProps) {
  const problemText = useProblemText();
  if (error === null) return null;
  return (
    <Alert color="red" role="alert">
      {ended !== undefined && hasFault(error, 'token') ? ended : problemText(error)}
    </Alert>
  );
}

/** The token of the link that was opened: its fragment, which the browser never sends. */
export const tokenOfLink = (): string => window.location.hash.slice(1);
