import { Alert, Button, Group, Paper, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { NEED } from '../contact.ts';
import { DropZone } from './drop-zone.tsx';
import { type FilePreview, isVcard, previewFile } from './import.ts';
import type { Draft } from './draft.ts';
import { isComplete, ListChoiceField } from '../list-choice.tsx';

type FileStepProps = {
  readonly draft: Draft;
  readonly onChange: (patch: Partial<Draft>) => void;
  readonly onNext: () => void;
};

const KINDS = '.csv,.tsv,.txt,.xlsx,.vcf,.vcard';

/** The step for the file and the list. The file is previewed as soon as it is chosen. */
export function FileStep({ draft: { file, list, preview }, onChange, onNext }: FileStepProps) {
  const { t } = useTranslation('contacts');
  const problemText = useProblemText();
  const read = useAction<File, FilePreview>({
    run: (chosen) => previewFile(chosen, null),
    quiet: true,
    onDone: (next) => onChange({ preview: next, targets: next.fields }),
  });
  const choose = (chosen: File): void => {
    onChange({ file: chosen, preview: null, targets: [] });
    read.reset();
    if (!isVcard(chosen)) read.run(chosen);
  };
  const isReady = file !== null && (preview !== null || isVcard(file));
  const reason = !isReady ? t('import.noFile') : list.list !== '' && !isComplete(list) && t('listChoice.nameMissing');
  return (
    <Paper p="lg">
      <Stack>
        <DropZone file={file} accept={KINDS} onFile={choose} />
        {read.error !== null && (
          <Alert color="red" title={t('import.unreadable')} role="alert">
            {problemText(read.error)}
          </Alert>
        )}
        <ListChoiceField
          label={t('import.list')}
          none={t('import.noList')}
          value={list}
          onChange={(next) => onChange({ list: next })}
        />
        <Group justify="flex-end">
          <GuardedButton need={NEED} reason={reason} loading={read.busy} onClick={onNext}>
            {t('import.next')}
          </GuardedButton>
        </Group>
      </Stack>
    </Paper>
  );
}

/** Button to the previous step. */
export function Back({ onBack }: { readonly onBack: () => void }) {
  const { t } = useTranslation('contacts');
  return (
    <Button variant="default" onClick={onBack}>
      {t('import.back')}
    </Button>
  );
}
