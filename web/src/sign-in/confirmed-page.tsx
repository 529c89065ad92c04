import { Center, Paper, Stack, Text, Title } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { announceStepUp, knownProblem } from './requests.tsx';

/**
 * The page on which a step-up at the company ends, in a separate window. It announces that to the page that waits, and
 * closes the window; if the browser does not let it, and after a problem, the text stays.
 */
export function Page() {
  const { t } = useTranslation('sign-in');
  const search: { problem?: unknown } = useSearch({ strict: false });
  const problem = search.problem === undefined ? null : (knownProblem(search.problem) ?? 'expired');
  useEffect(() => {
    document.title = `${t('stepUp.title')} · Heliograph`;
  }, [t]);
  useEffect(() => {
    announceStepUp(problem);
    if (problem === null) window.close();
  }, [problem]);
  return (
    <Center component="main" mih="100dvh" p="md">
      <Paper w="100%" maw={420} p="xl" shadow="sm">
        <Stack>
          <Title order={1} ta="center">
            {t('stepUp.title')}
          </Title>
          <Text role={problem === null ? 'status' : 'alert'}>
            {problem === null ? t('stepUp.company.done') : t(`stepUp.problem.${problem}`)}
          </Text>
          {problem !== null && <Text size="sm">{t('stepUp.company.back')}</Text>}
        </Stack>
      </Paper>
    </Center>
  );
}
