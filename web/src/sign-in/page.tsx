import { Alert, Button, Center, Paper, Stack, TextInput, Title } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { Building2 } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/passkey.ts';
import { ApiError, api, ok } from '../api/send.ts';
import { type Session, sessionQuery } from '../api/session.ts';
import icon from '../ui/icon.svg';
import { TextLink } from '../ui/parts.tsx';
import { SignInForm } from './password-step.tsx';

const PROBLEMS = ['expired', 'cancelled', 'unavailable', 'untrusted', 'not_allowed'];

/**
 * The sign-in methods other than the password, as far as the gateway offers them, and the reason why the last one
 * failed.
 */
function OtherWays() {
  const { t } = useTranslation('sign-in');
  const { data } = useQuery({
    queryKey: ['sign-in-options'],
    queryFn: ({ signal }) => ok(api.GET('/api/partner-gateway/v1/session/options', { signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Stack gap="sm">
      <CompanyProblem />
      {data?.singleSignOn && <Company />}
      {data?.passwordReset && (
        <TextLink to="/forgotten-password" ta="center">
          {t('forgotten')}
        </TextLink>
      )}
    </Stack>
  );
}

/** Reason why the provider's response led to no sign-in: one of a fixed set, since anyone can write the URL. */
function CompanyProblem() {
  const { t } = useTranslation('sign-in');
  const { problem }: { problem?: unknown } = useSearch({ strict: false });
  if (typeof problem !== 'string' || !PROBLEMS.includes(problem)) return null;
  return (
    <Alert color="red" role="alert">
      {t(`company.problem.${problem}`)}
    </Alert>
  );
}

function Company() {
  const { t } = useTranslation('sign-in');
  const [isOpen, setIsOpen] = useState(false);
  if (isOpen) return <CompanyForm />;
  return (
    <Button variant="default" leftSection={<Building2 size={16} />} onClick={() => setIsOpen(true)} fullWidth>
      {t('company.open')}
    </Button>
  );
}

function CompanyForm() {
  const { t } = useTranslation('sign-in');
  const { next }: { next?: unknown } = useSearch({ strict: false });
  const problemText = useProblemText();
  const form = useForm({
    initialValues: { company: '' },
    validate: { company: (value) => (value.trim() === '' ? t('company.missing') : null) },
  });
  const begin = useAction({
    run: ({ company }: { company: string }) =>
      ok(
        api.POST('/api/partner-gateway/v1/session/single-sign-on', {
          body: { company: company.trim(), ...(typeof next === 'string' && { next }) },
        }),
      ),
    quiet: true,
    signsIn: true,
    onDone: ({ authorizeUrl }) => window.location.assign(authorizeUrl),
  });
  const isUnknown = begin.error instanceof ApiError && begin.error.status === 404;
  const input = form.getInputProps('company');
  return (
    <form onSubmit={form.onSubmit((values) => begin.run(values))}>
      <Stack gap="sm">
        {begin.error !== null && !isUnknown && (
          <Alert color="red" role="alert">
            {problemText(begin.error)}
          </Alert>
        )}
        <TextInput
          label={t('company.label')}
          description={t('company.hint')}
          autoCapitalize="none"
          spellCheck={false}
          maxLength={254}
          autoFocus
          {...input}
          error={input.error ?? (isUnknown ? t('company.unknown') : undefined)}
        />
        <Button type="submit" variant="default" loading={begin.busy} fullWidth>
          {t('company.submit')}
        </Button>
      </Stack>
    </form>
  );
}

/** The sign-in page. `next` in the URL is the page to continue to. */
export function Page() {
  const { t } = useTranslation('sign-in');
  const proceed = useProceed();
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
          <SignInForm onSignedIn={proceed} below={<OtherWays />} />
        </Stack>
      </Paper>
    </Center>
  );
}

/** Continues to `next` if it is a page of the console, otherwise to the overview. */
function useProceed(): (session: Session) => void {
  const queries = useQueryClient();
  const router = useRouter();
  const { next }: { next?: unknown } = useSearch({ strict: false });
  return (session) => {
    queries.clear();
    queries.setQueryData(sessionQuery.queryKey, session);
    router.history.push(isOwnPath(next) ? next : '/');
  };
}

const isOwnPath = (path: unknown): path is string => typeof path === 'string' && /^\/(?![/\\])/.test(path);
