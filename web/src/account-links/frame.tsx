import { Alert, Center, Paper, Stack, Title } from '@mantine/core';
import { type ReactNode, useEffect } from 'react';
import { ApiError } from '../api/errors.ts';
import { useProblemText } from '../api/problem-text.ts';
import icon from '../ui/icon.svg';
import { TextLink } from '../ui/link.tsx';
import { useTranslation } from 'react-i18next';

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
export const hasFault = (error: unknown, field: 'token' | 'password'): boolean =>
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
