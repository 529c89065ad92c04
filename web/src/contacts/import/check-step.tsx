import { Group, Paper, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { NEED } from '../contact.ts';
import { Back } from './file-step.tsx';
import { type Import, importQuery, isRunning, sendFile } from './import.ts';
import type { Draft } from './draft.ts';
import { Summary } from './summary.tsx';
import { idOfChoice } from '../list-choice.tsx';

type CheckStepProps = {
  readonly draft: Draft;
  readonly onBack: () => void;
  readonly onImported: (id: number) => void;
};

/** The step that shows the result of a trial run, and then imports the file. */
export function CheckStep({ draft, onBack, onImported }: CheckStepProps) {
  const trial = useUpload(draft, true);
  const { run } = trial;
  useEffect(() => run(null), [run, draft]);
  if (trial.error !== null) return <ErrorState error={trial.error} onRetry={() => run(null)} />;
  return (
    <Paper p="lg">
      {trial.result === undefined ? (
        <UploadProgress share={trial.share} />
      ) : (
        <Checked id={trial.result.importId} draft={draft} onBack={onBack} onImported={onImported} />
      )}
    </Paper>
  );
}

/** Uploads the file and reports the share sent. */
function useUpload({ file, preview, targets }: Draft, dryRun: boolean) {
  const [share, setShare] = useState(0);
  const action = useAction<number | null, Import>({
    run(listId) {
      if (file === null) throw new Error('a file is chosen before it is sent');
      const columns = preview && { targets, hasHead: preview.hasHead };
      return sendFile({ file, dryRun, listId, columns, onSent: setShare });
    },
    quiet: dryRun,
  });
  return { ...action, share };
}

function UploadProgress({ share }: { readonly share: number }) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  return (
    <Stack gap="xs" role="status">
      {t('import.sending', { share: format.percent(share, 0) })}
      <JobProgress compact label={t('import.step.check')} done={share} total={1} />
    </Stack>
  );
}

function Checked({ id, draft, onBack, onImported }: CheckStepProps & { readonly id: number }) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { data, error, refetch } = useQuery(importQuery(id));
  const real = useUpload(draft, false);
  const start = useAction({
    run: async () => real.runAsync(await idOfChoice(draft.list)),
    refresh: [['contacts'], ['lists'], ['contact-fields'], ['imports']],
    quiet: true,
    onDone: ({ importId }) => onImported(importId),
  });
  if (data === undefined) return error && <ErrorState error={error} onRetry={() => void refetch()} />;
  const { created, updated } = data.summary;
  const count = created + updated;
  const none = count === 0 && t('import.nothing');
  return (
    <Stack gap="lg">
      <Summary result={data} />
      {start.busy && <UploadProgress share={real.share} />}
      <Group justify="space-between">
        <Back onBack={onBack} />
        <GuardedButton
          need={NEED}
          reason={isRunning(data) ? t('import.wait') : none}
          loading={start.busy}
          onClick={() => start.run()}
        >
          {t('import.submit', { count, shown: format.number(count) })}
        </GuardedButton>
      </Group>
    </Stack>
  );
}
