import { Alert, Button, Checkbox, Group, NativeSelect, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted } from '../ui/parts.tsx';
import { JobProgress, useFieldName } from '../ui/values.tsx';
import classes from './columns-step.module.css';
import { fieldsQuery, NEED } from './contact.ts';
import { TEXT_FIELDS } from './contact-form.tsx';
import {
  type ChangeDraft,
  type Draft,
  type FilePreview,
  type Import,
  idOfChoice,
  importFile,
  importQuery,
  isRunning,
  type NameOrder,
  namesFor,
  progressQuery,
  type Targets,
  toImportBody,
} from './import.tsx';
import { useReread } from './reading-fields.tsx';
import { Changes, Failure, FaultGroups, Figures, RejectsLink } from './summary.tsx';

type ColumnsStepProps = {
  readonly draft: Draft;
  readonly onChange: ChangeDraft;
  readonly onBack: () => void;
  readonly onNext: () => void;
};

const STANDARD = [...TEXT_FIELDS, 'gender', 'isTest', 'optedOut'] as const;
const CUSTOM = 'customField.';
const NUMBER = 'phoneNumber';

/** The step that assigns each column of the file to a contact field. */
export function ColumnsStep({ draft, onChange, onBack, onNext }: ColumnsStepProps) {
  const { t } = useTranslation('contacts');
  const { reread, retarget, busy } = useReread(draft, onChange);
  const { preview, targets } = draft;
  if (preview === null) return null;
  const choose = (at: number, target: string | null): void => {
    const next = replaced(targets, at, target);
    retarget(next, next.includes('fullName') === targets.includes('fullName') ? {} : { names: namesFor(next) });
  };
  const again = new Set(targets.filter((target, at) => target !== null && targets.indexOf(target) !== at));
  const twice = new Set([...again].filter((target) => target !== NUMBER));
  const faults = [
    ...(targets.includes(NUMBER) ? [] : [t('import.numberless')]),
    ...(twice.size > 0 ? [t('import.twice')] : []),
  ];
  return (
    <Paper p="lg">
      <Stack>
        <Checkbox
          label={t('import.hasHead')}
          checked={preview.hasHead}
          disabled={busy}
          onChange={(event) => reread({ hasHead: event.currentTarget.checked })}
        />
        <ul className={classes.columns} aria-label={t('import.step.columns')}>
          {preview.columns.map((column, at) => (
            <ColumnChoice
              key={at}
              column={column}
              samples={preview.preview.map((row) => row[at] ?? '')}
              target={targets[at] ?? null}
              isTwice={twice.has(targets[at] ?? null)}
              onChoose={(target) => choose(at, target)}
            />
          ))}
        </ul>
        {targets.includes('fullName') && (
          <NamesChoice draft={draft} preview={preview} onChoose={(names) => retarget(targets, { names })} />
        )}
        {again.has(NUMBER) && <Muted>{t('import.numbers')}</Muted>}
        {faults.map((fault) => (
          <Alert key={fault} color="red" role="alert">
            {fault}
          </Alert>
        ))}
        <Group justify="space-between">
          <Back onBack={onBack} />
          <GuardedButton need={NEED} reason={faults[0]} onClick={onNext}>
            {t('import.next')}
          </GuardedButton>
        </Group>
      </Stack>
    </Paper>
  );
}

type NamesChoiceProps = {
  readonly draft: Draft;
  readonly preview: FilePreview;
  readonly onChoose: (names: NameOrder) => void;
};

/** Choice of splitting a column of whole names, with the resulting first names. */
function NamesChoice({ draft: { reading }, preview, onChoose }: NamesChoiceProps) {
  const { t } = useTranslation('contacts');
  return (
    <Stack gap="xs">
      <NativeSelect
        label={t('import.names')}
        description={t('import.namesHint')}
        maw={420}
        value={reading.names}
        data={NAME_ORDERS.map((value) => ({ value, label: t(`import.nameOrder.${value}`) }))}
        onChange={(event) => {
          const { value } = event.currentTarget;
          onChoose(NAME_ORDERS.find((order) => order === value) ?? 'keep');
        }}
      />
      {reading.names !== 'keep' &&
        preview.names.map(({ name, firstName, lastName }, at) => (
          <Text key={at} size="sm" c="dimmed" className="foreign-text">
            {t('import.nameSplit', { name, firstName, lastName: lastName ?? '–' })}
          </Text>
        ))}
    </Stack>
  );
}

const NAME_ORDERS = ['firstLast', 'lastFirst', 'keep'] as const;

const replaced = (targets: Targets, at: number, target: string | null): Targets =>
  targets.map((each, i) => (i === at ? target : each));

type ColumnChoiceProps = {
  readonly column: string;
  readonly samples: readonly string[];
  readonly target: string | null;
  readonly isTwice: boolean;
  readonly onChoose: (target: string | null) => void;
};

function ColumnChoice({ column, samples, target, isTwice, onChoose }: ColumnChoiceProps) {
  const { t } = useTranslation('contacts');
  const groups = useTargets(column, target);
  const filled = samples.filter((sample) => sample.trim() !== '');
  return (
    <li className={classes.column}>
      <div className={classes.source}>
        <Text size="sm" fw={500} className="foreign-text">
          {column}
        </Text>
        <Text size="xs" c="dimmed" truncate dir="auto">
          {filled.length > 0 ? filled.join(' · ') : t('import.noSample')}
        </Text>
      </div>
      <NativeSelect
        aria-label={t('import.target', { column })}
        data={groups}
        value={target ?? ''}
        error={isTwice}
        onChange={(event) => onChoose(event.currentTarget.value || null)}
        className={classes.target}
      />
    </li>
  );
}

/** The fields a column can be imported as: the standard ones, the custom ones, and a new one named after the column. */
function useTargets(column: string, target: string | null) {
  const { t } = useTranslation('contacts');
  const own = (useQuery(fieldsQuery).data ?? []).map(({ name }) => name);
  const fieldName = useFieldName();
  const newName = target?.startsWith(CUSTOM) ? target.slice(CUSTOM.length) : column;
  const isThere = own.some((name) => name.toLowerCase() === newName.toLowerCase());
  return [
    { value: '', label: t('import.passOver') },
    {
      group: t('import.standard'),
      items: STANDARD.map((value) => ({ value, label: fieldName(value) })),
    },
    {
      group: t('fields.title'),
      items: [
        ...own.map((name) => ({ value: `${CUSTOM}${name}`, label: fieldName(name) })),
        ...(isThere ? [] : [{ value: `${CUSTOM}${newName}`, label: t('import.newField', { name: newName }) }]),
      ],
    },
  ];
}

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

/** Button to the previous step. */
function Back({ onBack }: { readonly onBack: () => void }) {
  const { t } = useTranslation('contacts');
  return (
    <Button variant="default" onClick={onBack}>
      {t('import.back')}
    </Button>
  );
}
