import { Center, Paper, Stack, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useRouter, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { type Session, sessionQuery } from '../api/session.ts';
import icon from '../ui/icon.svg';
import { SignInForm } from './form.tsx';
import { OtherWays } from './other-ways.tsx';

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
