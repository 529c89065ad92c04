import { Alert, Group, Paper, Stack } from '@mantine/core';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { JobProgress } from '../../ui/values/progress.tsx';
import { NEED } from '../contact.ts';
import { isComplete, ListChoiceField } from '../list-choice.tsx';
import { DropZone } from './drop-zone.tsx';
import { type ChangeDraft, type Draft, FIRST_CURES, isVcard, namesFor, NEW_READING, toReadingBody } from './draft.ts';
import { type FilePreview, previewFile, sendFile, type StoredFile } from './import.ts';
import { ReadingFields } from './reading-fields.tsx';

type FileStepProps = { readonly draft: Draft; readonly onChange: ChangeDraft; readonly onNext: () => void };

const KINDS = '.csv,.tsv,.txt,.xlsx,.vcf,.vcard';

/** The step for the file, how it is read, and the list. The file is sent and previewed as soon as it is chosen. */
export function FileStep({ draft, onChange, onNext }: FileStepProps) {
  const { t } = useTranslation('contacts');
  const { file, list, preview } = draft;
  const problemText = useProblemText();
  const [chosen, setChosen] = useState<File | null>(null);
  const sending = useSending(onChange);
  const choose = (next: File): void => {
    setChosen(next);
    onChange({ file: null, preview: null, targets: [], reading: NEW_READING, cures: FIRST_CURES, edits: {} });
    sending.run(next);
  };
  const isReady = file !== null && (preview !== null || isVcard(file));
  const reason = !isReady ? t('import.noFile') : list.list !== '' && !isComplete(list) && t('listChoice.nameMissing');
  const shown = chosen === null ? file : { fileName: chosen.name, sizeBytes: chosen.size };
  return (
    <Paper p="lg">
      <Stack>
        <DropZone file={shown} accept={KINDS} onFile={choose} />
        {sending.busy && <Sending share={sending.share} />}
        {sending.error !== null && (
          <Alert color="red" title={t('import.unreadable')} role="alert">
            {problemText(sending.error)}
          </Alert>
        )}
        {preview !== null && <ReadingFields draft={draft} preview={preview} onChange={onChange} />}
        <ListChoiceField
          label={t('import.list')}
          none={t('import.noList')}
          value={list}
          onChange={(next) => onChange({ list: next })}
        />
        <Group justify="flex-end">
          <GuardedButton need={NEED} reason={reason} loading={sending.busy} onClick={onNext}>
            {t('import.next')}
          </GuardedButton>
        </Group>
      </Stack>
    </Paper>
  );
}

type Sent = { readonly file: StoredFile; readonly preview: FilePreview | null };

/** Sends the file and previews it; the country is guessed from its numbers. */
function useSending(onChange: ChangeDraft) {
  const [share, setShare] = useState(0);
  // Another file may be chosen while one is on its way: the last one counts.
  const latest = useRef<File | null>(null);
  const action = useAction<File, Sent>({
    async run(chosen) {
      latest.current = chosen;
      setShare(0);
      const file = await sendFile(chosen, (sent) => {
        if (chosen === latest.current) setShare(sent);
      });
      const first = { reading: NEW_READING, targets: [] };
      return { file, preview: isVcard(file) ? null : await previewFile(file.uploadId, toReadingBody(first)) };
    },
    quiet: true,
    onDone({ file, preview }, chosen) {
      if (chosen !== latest.current) return;
      const targets = preview?.fields ?? [];
      const reading = { ...NEW_READING, country: preview?.country ?? null, names: namesFor(targets) };
      onChange({ file, preview, targets, reading });
    },
  });
  return { ...action, share };
}

/** The progress of the upload. Once all is sent, the server reads the file, which has another name. */
function Sending({ share }: { readonly share: number }) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const isSent = share >= 1;
  return (
    <Stack gap="xs" role="status">
      {isSent ? t('import.reading') : t('import.sending', { share: format.percent(share, 0) })}
      <JobProgress compact label={t('import.step.file')} done={share} total={1} />
    </Stack>
  );
}
