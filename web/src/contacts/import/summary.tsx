import { Alert, Button, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Download } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { type Import, isRunning, rejectsUrl } from './import.ts';
import classes from './summary.module.css';

type SummaryProps = { readonly result: Import };

const FIGURES = ['total', 'created', 'updated', 'skipped', 'errors'] as const;

/** The result of an import or a trial run: counts, then the rejected rows with their errors. */
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
      {result.status === 'FAILED' && (
        <Alert color="red" title={t('import.failed')} role="alert">
          {result.failureReason}
        </Alert>
      )}
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
      {result.errors.length > 0 && <Faults result={result} />}
    </Stack>
  );
}

/** The rejected rows in the response; the downloadable file has all of them. */
function Faults({ result: { importId, errors, summary } }: SummaryProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const out = summary.errors + summary.skipped;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Title order={2} size="h4">
          {t('import.left', { count: out, shown: format.number(out) })}
        </Title>
        <Button
          component="a"
          href={rejectsUrl(importId)}
          download
          variant="default"
          size="xs"
          leftSection={<Download size={14} />}
        >
          {t('import.rejects')}
        </Button>
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
                <td>{t(`import.field.${field}`, field.replace(/^customField\./, ''))}</td>
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
