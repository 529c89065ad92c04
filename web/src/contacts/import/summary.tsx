import { Alert, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Download } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { Changes } from './cleaning/changes.tsx';
import { useFieldName } from './cleaning/change-text.ts';
import { type Import, isRunning, rejectsUrl } from './import.ts';
import classes from './summary.module.css';

type SummaryProps = { readonly result: Import };

const FIGURES = ['total', 'created', 'updated', 'skipped', 'errors'] as const;

/** The result of an import or a trial run: progress and counts, the changes, then the rejected rows. */
export function Summary({ result }: SummaryProps) {
  const { t } = useTranslation('contacts');
  const { summary, dryRun, fileName } = result;
  const done = summary.created + summary.updated + summary.skipped + summary.errors;
  return (
    <Stack gap="lg">
      {isRunning(result) && (
        <JobProgress
          label={t(dryRun ? 'import.checking' : 'import.running', { fileName })}
          done={done}
          total={summary.total}
        />
      )}
      <Failure result={result} />
      <Figures result={result} />
      {result.errors.length > 0 && <Faults result={result} />}
      <Changes changes={result.cleaning.changes} />
    </Stack>
  );
}

/** Reason why an import or a trial run did not finish. */
export function Failure({ result: { status, dryRun, failureReason } }: SummaryProps) {
  const { t } = useTranslation('contacts');
  if (status !== 'FAILED') return null;
  return (
    <Alert color="red" title={t(dryRun ? 'import.checkFailed' : 'import.failed')} role="alert">
      {failureReason}
    </Alert>
  );
}

/** Numbers of rows created, updated and rejected. */
export function Figures({ result: { summary } }: SummaryProps) {
  const { t } = useTranslation('contacts');
  return (
    <SimpleGrid cols={{ base: 2, sm: 3, lg: 5 }}>
      {FIGURES.map((figure) => (
        <Stat
          key={figure}
          label={t(`import.figure.${figure}`)}
          value={<Num value={summary[figure]} />}
          note={t(`import.figureNote.${figure}`)}
        />
      ))}
    </SimpleGrid>
  );
}

/** The link to the file of the rejected rows. */
export function RejectsLink({ id }: { readonly id: number }) {
  const { t } = useTranslation('contacts');
  return (
    <Button component="a" href={rejectsUrl(id)} download variant="default" leftSection={<Download size={14} />}>
      {t('import.rejects')}
    </Button>
  );
}

/** The rejected rows in the response; the downloadable file has all of them. */
function Faults({ result: { importId, errors, summary } }: SummaryProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const fieldName = useFieldName();
  const out = summary.errors + summary.skipped;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('import.left', { count: out, shown: format.number(out) })}
        </Title>
        <RejectsLink id={importId} />
      </Group>
      <div className={classes.pane} tabIndex={0} role="region" aria-label={t('import.faults')}>
        <table className={classes.table} aria-label={t('import.faults')}>
          <thead>
            <tr>
              <th className={classes.line}>{t('import.line')}</th>
              <th>{t('import.column')}</th>
              <th>{t('import.fault')}</th>
            </tr>
          </thead>
          <tbody>
            {errors.map(({ line, field, message }, at) => (
              <tr key={at}>
                <td className={classes.line}>{format.number(line)}</td>
                <td>{fieldName(field)}</td>
                <td className="foreign-text">{message}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Text size="xs" c="dimmed">
        {t('import.correctRows')}
      </Text>
    </Stack>
  );
}
