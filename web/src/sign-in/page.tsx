import { Alert, Button, Center, Paper, PasswordInput, Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import { sessionQuery } from '../api/session.ts';
import icon from '../ui/icon.svg';

type Credentials = { readonly username: string; readonly password: string };

/** The sign-in page. `next` in the URL is the page to continue to. */
export function Page() {
  const { t } = useTranslation('sign-in');
  useEffect(() => {
    document.title = `${t('title')} · Heliograph`;
  }, [t]);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper w="100%" maw={380} p="xl" shadow="sm">
        <Stack gap="lg">
          <Stack gap="xs" align="center">
            <img src={icon} alt="" width={44} height={44} />
            <Title order={1}>{t('title')}</Title>
          </Stack>
          <SignInForm />
        </Stack>
      </Paper>
    </Center>
  );
}

function SignInForm() {
  const { t } = useTranslation('sign-in');
  const form = useForm<Credentials>({
    initialValues: { username: '', password: '' },
    validate: {
      username: (value) => (value.trim() === '' ? t('username.missing') : null),
      password: (value) => (value === '' ? t('password.missing') : null),
    },
  });
  const signIn = useSignIn();
  return (
    <form onSubmit={form.onSubmit((values) => signIn.run(values))}>
      <Stack>
        {signIn.error !== null && <Refused error={signIn.error} />}
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
          {...form.getInputProps('password')}
        />
        <Button type="submit" loading={signIn.busy} fullWidth>
          {t('submit')}
        </Button>
      </Stack>
    </form>
  );
}

function Refused({ error }: { readonly error: unknown }) {
  const { t } = useTranslation('sign-in');
  const problemText = useProblemText();
  const isWrong = error instanceof ApiError && error.status === 401;
  return (
    <Alert color="red" role="alert">
      {isWrong ? t('wrong') : problemText(error)}
    </Alert>
  );
}

/** Signs in and continues to `next` if it is a page of the console, otherwise to the overview. */
function useSignIn() {
  const queries = useQueryClient();
  const router = useRouter();
  const { next }: { next?: unknown } = useSearch({ strict: false });
  return useAction({
    run: (body: Credentials) => ok(api.POST('/api/partner-gateway/v1/session', { body })),
    quiet: true,
    signsIn: true,
    onDone(session) {
      queries.clear();
      queries.setQueryData(sessionQuery.queryKey, session);
      router.history.push(isOwnPath(next) ? next : '/');
    },
  });
}

const isOwnPath = (path: unknown): path is string => typeof path === 'string' && /^\/(?![/\\])/.test(path);
