import { Button, Group, Paper, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { refresh } from '../../api/refresh.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge, type Tone } from '../../ui/values/status-badge.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { type Import, importQuery, isRunning } from './import.ts';
import { Summary } from './summary.tsx';

type OutcomeProps = { readonly id: number; readonly onAgain: () => void };

/** The progress and the result of an import. */
export function Outcome({ id, onAgain }: OutcomeProps) {
  const { t } = useTranslation('contacts');
  const { data, error, refetch } = useQuery(importQuery(id));
  useRefresh(data);
  if (data === undefined)
    return (
      <Paper p="lg">
        {error === null ? <TableSkeleton rows={3} /> : <ErrorState error={error} onRetry={() => void refetch()} />}
      </Paper>
    );
  return (
    <Section title={data.fileName || t('import.file')} actions={<ImportStatus result={data} />}>
      <Stack gap="lg">
        <Summary result={data} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onAgain}>
            {t('import.again')}
          </Button>
          <ButtonLink to={data.listId === null ? '/contacts' : `/lists/${data.listId}`}>
            {t(data.listId === null ? 'import.see' : 'import.seeList')}
          </ButtonLink>
        </Group>
      </Stack>
    </Section>
  );
}

/** Refetches contacts and lists once the import has ended. */
function useRefresh(data: Import | undefined): void {
  const queries = useQueryClient();
  const hasEnded = data !== undefined && !isRunning(data);
  useEffect(() => {
    if (!hasEnded) return;
    for (const key of ['contacts', 'lists', 'contact-fields']) void refresh(queries, [key]);
  }, [hasEnded, queries]);
}

const TONES: Readonly<Record<Import['status'], Tone>> = {
  PENDING: 'progress',
  RUNNING: 'progress',
  COMPLETED: 'good',
  FAILED: 'bad',
};

/** The status of an import or of a trial run. */
export function ImportStatus({ result: { status, dryRun } }: { readonly result: Pick<Import, 'status' | 'dryRun'> }) {
  const { t } = useTranslation('contacts');
  const isTrial = dryRun && status === 'COMPLETED';
  return (
    <StatusBadge tone={isTrial ? 'neutral' : TONES[status]}>
      {t(`import.status.${isTrial ? 'TRIAL' : status}`)}
    </StatusBadge>
  );
}
