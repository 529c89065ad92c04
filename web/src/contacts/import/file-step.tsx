import { Alert, Button, Group, Paper, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { MayButton } from '../../ui/actions/may-button.tsx';
import { NEED } from '../contact.ts';
import { DropZone } from './drop-zone.tsx';
import { type Beginning, isVcard, readBeginning } from './import.ts';
import type { Draft } from './draft.ts';
import { isComplete, ListChoiceField } from '../list-choice.tsx';

type FileStepProps = {
  readonly draft: Draft;
  readonly onChange: (patch: Partial<Draft>) => void;
  readonly onNext: () => void;
};

const KINDS = '.csv,.tsv,.txt,.xlsx,.vcf,.vcard';

/** Which file, and into which list. The file is looked into as soon as it is chosen. */
export function FileStep({ draft: { file, list, beginning }, onChange, onNext }: FileStepProps) {
  const { t } = useTranslation('contacts');
  const problemText = useProblemText();
  const read = useAction<File, Beginning>({
    run: (chosen) => readBeginning(chosen, null),
    quiet: true,
    onDone: (made) => onChange({ beginning: made, targets: made.fields }),
  });
  const choose = (chosen: File): void => {
    onChange({ file: chosen, beginning: null, targets: [] });
    read.reset();
    if (!isVcard(chosen)) read.run(chosen);
  };
  const isReady = file !== null && (beginning !== null || isVcard(file));
  const because = !isReady ? t('import.noFile') : list.list !== '' && !isComplete(list) && t('listChoice.nameMissing');
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
          <MayButton need={NEED} because={because} loading={read.busy} onClick={onNext}>
            {t('import.next')}
          </MayButton>
        </Group>
      </Stack>
    </Paper>
  );
}

/** The way back of a step. */
export function Back({ onBack }: { readonly onBack: () => void }) {
  const { t } = useTranslation('contacts');
  return (
    <Button variant="default" onClick={onBack}>
      {t('import.back')}
    </Button>
  );
}
