import { Group, Paper, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { NEED } from '../contact.ts';
import { Back } from './back.tsx';
import { Changes } from './cleaning/changes.tsx';
import { FaultGroups } from './cleaning/fault-groups.tsx';
import { type Import, importFile, importQuery, isRunning, progressQuery } from './import.ts';
import { type ChangeDraft, type Draft, toImportBody } from './draft.ts';
import { Failure, Figures, RejectsLink } from './summary.tsx';
import { idOfChoice } from '../list-choice.tsx';

type CheckStepProps = {
  readonly draft: Draft;
  readonly onChange: ChangeDraft;
  readonly onBack: () => void;
  readonly onImported: (id: number) => void;
};

/** The step that shows the effects of an import, corrects faulty values, and then imports the file. */
export function CheckStep({ draft, onChange, onBack, onImported }: CheckStepProps) {
  const { t } = useTranslation('contacts');
  const trial = useImport(draft, true);
  const real = useImport(draft, false);
  const start = useAction({
    run: async () => real.runAsync(await idOfChoice(draft.list)),
    refresh: [['contacts'], ['lists'], ['contact-fields'], ['imports']],
    quiet: true,
    onDone: ({ importId }) => onImported(importId),
  });
  const { run } = trial;
  const request = JSON.stringify(toImportBody(draft));
  // Only settings that change the result are a reason to check again: a large file takes minutes.
  useEffect(() => run(null), [run, request]);
  const id = draft.file?.uploadId ?? 0;
  const error = trial.error ?? start.error;
  if (error !== null)
    return <ErrorState error={error} onRetry={() => (trial.error === null ? start.run() : run(null))} />;
  return (
    <Paper p="lg">
      {start.busy && <ReadingProgress id={id} label={t('import.importing')} />}
      {!start.busy && (trial.busy || trial.result === undefined) && (
        <ReadingProgress id={id} label={t('import.checkingFile')} />
      )}
      {!start.busy && !trial.busy && trial.result !== undefined && (
        <Checked
          id={trial.result.importId}
          draft={draft}
          onChange={onChange}
          onBack={onBack}
          onImport={() => start.run()}
        />
      )}
    </Paper>
  );
}

/** Checks the file on the server, or imports it. */
function useImport(draft: Draft, dryRun: boolean) {
  return useAction<number | null, Import>({
    run(listId) {
      if (draft.file === null) throw new Error('a file is sent before it is imported');
      return importFile(draft.file.uploadId, { ...toImportBody(draft), dryRun, ...(listId !== null && { listId }) });
    },
    quiet: true,
  });
}

/** Progress of the server's reading of the file. */
function ReadingProgress({ id, label }: { readonly id: number; readonly label: string }) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { data } = useQuery(progressQuery(id, true));
  const share = data?.progress ?? 0;
  return (
    <Stack gap="xs" role="status">
      {t('import.read', { label, share: format.percent(share, 0) })}
      <JobProgress compact label={label} done={share} total={1} />
    </Stack>
  );
}

type CheckedProps = Pick<CheckStepProps, 'draft' | 'onChange' | 'onBack'> & {
  readonly id: number;
  readonly onImport: () => void;
};

function Checked({ id, draft, onChange, onBack, onImport }: CheckedProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { data, error, refetch } = useQuery(importQuery(id));
  if (data === undefined) return error && <ErrorState error={error} onRetry={() => void refetch()} />;
  const { created, updated, skipped, errors } = data.summary;
  const count = created + updated;
  const none = count === 0 && t('import.nothing');
  return (
    <Stack gap="lg">
      {isRunning(data) && (
        <JobProgress
          label={t('import.checking', { fileName: data.fileName })}
          done={count + skipped + errors}
          total={data.summary.total}
        />
      )}
      <Failure result={data} />
      <Figures result={data} />
      <Group justify="space-between">
        <Back onBack={onBack} />
        <Group gap="sm">
          {skipped + errors > 0 && <RejectsLink id={id} />}
          <GuardedButton need={NEED} reason={isRunning(data) ? t('import.wait') : none} onClick={onImport}>
            {t('import.submit', { count, shown: format.number(count) })}
          </GuardedButton>
        </Group>
      </Group>
      <FaultGroups result={data} draft={draft} onChange={onChange} />
      <Changes changes={data.cleaning.changes} />
    </Stack>
  );
}
