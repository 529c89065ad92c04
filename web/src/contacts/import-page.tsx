import { Alert, Button, FileButton, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { FileUp } from 'lucide-react';
import { type DragEvent, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useProblemText } from '../api/passkey.ts';
import { refresh } from '../api/refresh.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, PageFrame, Section, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { Steps } from '../ui/stepper.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { Bytes, DateTime, JobProgress, Num, StatusBadge, type Tone } from '../ui/values.tsx';
import { CheckStep, ColumnsStep } from './columns-step.tsx';
import { CONTACTS, NEED } from './contact.ts';
import classes from './drop-zone.module.css';
import {
  type ChangeDraft,
  type Draft,
  FIRST_CURES,
  type FilePreview,
  type Import,
  importQuery,
  isComplete,
  isRunning,
  isVcard,
  ListChoiceField,
  NEW_READING,
  NO_LIST,
  namesFor,
  previewFile,
  type StoredFile,
  sendFile,
  toReadingBody,
} from './import.tsx';
import { ReadingFields } from './reading-fields.tsx';
import { Summary } from './summary.tsx';

type FileStepProps = { readonly draft: Draft; readonly onChange: ChangeDraft; readonly onNext: () => void };

const KINDS = '.csv,.tsv,.txt,.xlsx,.vcf,.vcard';

/** The step for the file, how it is read, and the list. The file is sent and previewed as soon as it is chosen. */
function FileStep({ draft, onChange, onNext }: FileStepProps) {
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

const FIELDS = { list: text(), import: text() };

/** The page of the contact import: file, columns, check and result. */
export function Page() {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(FIELDS);
  const id = /^\d{1,15}$/.test(search.import) ? Number(search.import) : null;
  return (
    <PageFrame
      title={t('import.title')}
      description={id === null ? t('import.text') : undefined}
      trail={[{ label: t('title'), to: '/contacts' }]}
    >
      {id === null ? (
        <Wizard list={search.list} onImported={(importId) => setSearch({ import: String(importId), list: '' })} />
      ) : (
        <Outcome id={id} onAgain={() => setSearch({ import: '' })} />
      )}
    </PageFrame>
  );
}

type WizardProps = { readonly list: string; readonly onImported: (id: number) => void };
type StepId = 'file' | 'columns' | 'check';

function Wizard({ list, onImported }: WizardProps) {
  const { t } = useTranslation('contacts');
  const [step, setStep] = useState<StepId>('file');
  const [draft, setDraft] = useState<Draft>({
    file: null,
    list: list === '' ? NO_LIST : { list, name: '' },
    preview: null,
    targets: [],
    reading: NEW_READING,
    cures: FIRST_CURES,
    edits: {},
  });
  const change = (patch: Partial<Draft>): void => setDraft((before) => ({ ...before, ...patch }));
  const { file } = draft;
  const isRead = file !== null && (draft.preview !== null || isVcard(file));
  const go = (id: string): void => {
    if (id === 'file' || (isRead && (id !== 'columns' || draft.preview !== null))) setStep(id as StepId);
  };
  const afterFile = (): void => setStep(file !== null && isVcard(file) ? 'check' : 'columns');
  const steps = [
    {
      id: 'file',
      label: t('import.step.file'),
      note: file?.fileName,
      content: <FileStep draft={draft} onChange={change} onNext={afterFile} />,
    },
    {
      id: 'columns',
      label: t('import.step.columns'),
      content: <ColumnsStep draft={draft} onChange={change} onBack={() => go('file')} onNext={() => go('check')} />,
    },
    {
      id: 'check',
      label: t('import.step.check'),
      content: (
        <CheckStep
          draft={draft}
          onChange={change}
          onBack={() => go(draft.preview ? 'columns' : 'file')}
          onImported={onImported}
        />
      ),
    },
  ];
  return (
    <Stack gap="xl" maw={980}>
      <Steps steps={steps} active={step} onChange={go} />
      {step === 'file' && <PastImports />}
    </Stack>
  );
}

const PAST_FIELDS = listFields('', 10);

const listImports = (page: number, limit: number, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/imports`, { params: { query: { page, limit } }, signal }));
type PastImport = Awaited<ReturnType<typeof listImports>>['data'][number];

/** Previous imports and trial runs; nothing if there are none. */
function PastImports() {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(PAST_FIELDS);
  const columns = useColumns();
  const query = useQuery({
    queryKey: ['imports', 'page', search],
    queryFn: ({ signal }) => listImports(search.page, search.limit, signal),
  });
  if (query.data === undefined || query.data.total === 0) return null;
  return (
    <Section title={t('import.past')}>
      <DataTable<PastImport>
        id="contact-imports"
        label={t('import.past')}
        columns={columns}
        query={query}
        rowId={({ importId }) => String(importId)}
        search={search}
        onSearch={setSearch}
        empty={null}
      />
    </Section>
  );
}

function useColumns(): readonly Column<PastImport>[] {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      {
        id: 'fileName',
        header: t('import.file'),
        phone: 'title',
        cell: ({ importId, fileName }) => (
          <TextLink to="/contacts/import" search={{ import: importId }} style={{ overflowWrap: 'anywhere' }}>
            {fileName || t('import.file')}
          </TextLink>
        ),
      },
      { id: 'status', header: t('import.state'), cell: (row) => <ImportStatus result={row} /> },
      ...(['created', 'updated', 'errors'] as const).map(
        (figure): Column<PastImport> => ({
          id: figure,
          header: t(`import.figure.${figure}`),
          align: 'right',
          cell: ({ summary }) => <Num value={summary[figure]} />,
        }),
      ),
      { id: 'createdAt', header: t('import.when'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

type DropZoneProps = {
  readonly file: { readonly fileName: string; readonly sizeBytes: number } | null;
  readonly accept: string;
  readonly onFile: (file: File) => void;
};

/** An area to drop a file on, with a button to choose one. */
function DropZone({ file, accept, onFile }: DropZoneProps) {
  const { t } = useTranslation('contacts');
  const [isOver, setOver] = useState(false);
  const stop = (event: DragEvent, over: boolean): void => {
    event.preventDefault();
    setOver(over);
  };
  return (
    <div
      className={classes.zone}
      data-over={isOver || undefined}
      onDragOver={(event) => stop(event, true)}
      onDragLeave={(event) => stop(event, false)}
      onDrop={(event) => {
        stop(event, false);
        const [dropped] = event.dataTransfer.files;
        if (dropped) onFile(dropped);
      }}
    >
      <Stack align="center" gap="xs">
        <FileUp size={28} aria-hidden="true" />
        {file === null ? (
          <Text fw={500}>{t('import.drop')}</Text>
        ) : (
          <Group gap="xs" justify="center">
            <Text fw={500} className="foreign-text">
              {file.fileName}
            </Text>
            <Text c="dimmed" size="sm">
              <Bytes count={file.sizeBytes} />
            </Text>
          </Group>
        )}
        <Text size="sm" c="dimmed" ta="center">
          {t('import.kinds')}
        </Text>
        <FileButton
          accept={accept}
          onChange={(chosen) => chosen && onFile(chosen)}
          inputProps={{ 'aria-label': t('import.file') }}
        >
          {(props) => (
            <Button {...props} variant="default">
              {t(file === null ? 'import.choose' : 'import.chooseOther')}
            </Button>
          )}
        </FileButton>
      </Stack>
    </div>
  );
}

type OutcomeProps = { readonly id: number; readonly onAgain: () => void };

/** The progress and the result of an import. */
function Outcome({ id, onAgain }: OutcomeProps) {
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
function ImportStatus({ result: { status, dryRun } }: { readonly result: Pick<Import, 'status' | 'dryRun'> }) {
  const { t } = useTranslation('contacts');
  const isTrial = dryRun && status === 'COMPLETED';
  return (
    <StatusBadge tone={isTrial ? 'neutral' : TONES[status]}>
      {t(`import.status.${isTrial ? 'TRIAL' : status}`)}
    </StatusBadge>
  );
}
