import { Alert, Button, Group, SimpleGrid, Stack, Text, TextInput, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Download } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/format.ts';
import { ErrorState, TableSkeleton } from '../ui/parts.tsx';
import { SmallTable } from '../ui/small-table.tsx';
import { JobProgress, Num, Stat, useFieldName } from '../ui/values.tsx';
import classesCleaning from './cleaning.module.css';
import {
  type Change,
  type ChangeDraft,
  type Cures,
  type Draft,
  type Edits,
  type FaultGroup,
  type Import,
  isRunning,
  listRows,
  type RejectedRow,
  rejectsUrl,
} from './import.tsx';

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
      <SmallTable
        label={t('import.faults')}
        maxHeight={360}
        rows={errors.map((fault, at) => ({ ...fault, at }))}
        rowId={({ at }) => at}
        columns={[
          { id: 'line', header: t('import.line'), align: 'right', cell: ({ line }) => format.number(line) },
          { id: 'column', header: t('import.column'), cell: ({ field }) => fieldName(field) },
          {
            id: 'fault',
            header: t('import.fault'),
            cell: ({ message }) => <span className="foreign-text">{message}</span>,
          },
        ]}
      />
      <Text size="xs" c="dimmed">
        {t('import.correctRows')}
      </Text>
    </Stack>
  );
}

type FaultGroupsProps = { readonly result: Import; readonly draft: Draft; readonly onChange: ChangeDraft };

/** The faults of the rejected rows by cause, each with the ways to cure it: in one click, or row by row. */
export function FaultGroups({ result, draft, onChange }: FaultGroupsProps) {
  const { t } = useTranslation('contacts');
  const { groups } = result.cleaning;
  if (groups.length === 0) return null;
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('import.problems')}
      </Title>
      <ul className={classesCleaning.groups} aria-label={t('import.problems')}>
        {groups.map((group) => (
          <li key={`${group.cause} ${group.field}`} className={classesCleaning.group}>
            <FaultCard group={group} importId={result.importId} draft={draft} onChange={onChange} />
          </li>
        ))}
      </ul>
    </Stack>
  );
}

type FaultCardProps = Pick<FaultGroupsProps, 'draft' | 'onChange'> & {
  readonly group: FaultGroup;
  readonly importId: number;
};

function FaultCard({ group, importId, draft, onChange }: FaultCardProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const text = useChangeText();
  const fieldName = useFieldName();
  const [isOpen, setOpen] = useState(false);
  const { cause, field, rows, samples, cures } = group;
  const at = columnOf(draft, field);
  const cure = (change: Change): void => onChange({ cures: withCure(draft.cures, change) });
  return (
    <Stack gap="xs">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={2} style={{ minWidth: 0, flex: '1 1 240px' }}>
          <Text size="sm" fw={500}>
            {t(`import.cause.${cause}`, { count: rows, shown: format.number(rows), field: fieldName(field) })}
          </Text>
          <Text size="xs" c="dimmed" className="foreign-text" style={{ overflowWrap: 'anywhere' }}>
            {samples.map(({ line, value }) => t('import.sampleOf', { line: format.number(line), value })).join(' · ')}
          </Text>
        </Stack>
        {at >= 0 && (
          <Button size="xs" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            {t('import.fixRows')}
          </Button>
        )}
      </Group>
      {cures.length > 0 && (
        <div className={classesCleaning.cures}>
          {cures.map((change) => (
            <div key={`${change.cure} ${change.country}`} className={classesCleaning.cure}>
              <Button size="xs" onClick={() => cure(change)}>
                {text.cure(change)}
              </Button>
              <Samples samples={change.samples} />
            </div>
          ))}
        </div>
      )}
      {isOpen && at >= 0 && (
        <RowEditor
          importId={importId}
          group={group}
          at={at}
          edits={draft.edits}
          onSave={(edits) => onChange({ edits })}
        />
      )}
    </Stack>
  );
}

/** The place of the column that a field comes from; -1 if there is none, as for rows that are too long. */
const columnOf = ({ targets }: Draft, field: string): number =>
  targets.indexOf(field.replace(/^customFields\./, 'customField.'));

function withCure(cures: Cures, { cure, field, country }: Change): Cures {
  if (cure === 'drop' || cure === 'dayFirst' || cure === 'monthFirst')
    return { ...cures, [cure]: [...cures[cure], field] };
  if (cure === 'country') return country === null ? cures : { ...cures, countries: [...cures.countries, country] };
  return { ...cures, [cure]: true };
}

type RowEditorProps = {
  readonly importId: number;
  readonly group: FaultGroup;
  /** The place of the faulty column. */
  readonly at: number;
  readonly edits: Edits;
  readonly onSave: (edits: Edits) => void;
};

/** More rows than this are not corrected one by one; the next ones come after these were checked. */
const SHOWN_ROWS = 20;

/** The first rows with a fault, whose faulty value can be corrected; they are checked again together. */
function RowEditor({ importId, group, at, edits, onSave }: RowEditorProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { cause, field, rows } = group;
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const { data, error, refetch } = useQuery({
    queryKey: ['imports', importId, 'rows', cause, field],
    queryFn: ({ signal }) => listRows(importId, { cause, field, page: 0, limit: SHOWN_ROWS }, signal),
  });
  if (data === undefined)
    return error === null ? <TableSkeleton rows={3} /> : <ErrorState error={error} onRetry={() => void refetch()} />;
  const save = (event: FormEvent): void => {
    event.preventDefault();
    onSave(withValues(edits, values, at));
  };
  return (
    <form onSubmit={save}>
      <Stack gap="sm">
        <ul className={classesCleaning.rows} aria-label={t('import.fixRows')}>
          {data.data.map((row) => (
            <EditedRow
              key={row.line}
              row={row}
              at={at}
              value={values[row.line]}
              onChange={(value) => setValues((before) => ({ ...before, [row.line]: value }))}
            />
          ))}
        </ul>
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {rows > data.data.length &&
              t('import.fixMore', { shown: format.number(data.data.length), total: format.number(rows) })}
          </Text>
          <Button type="submit" size="xs" disabled={Object.keys(values).length === 0}>
            {t('import.checkAgain')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type EditedRowProps = {
  readonly row: RejectedRow;
  readonly at: number;
  readonly value: string | undefined;
  readonly onChange: (value: string) => void;
};

function EditedRow({ row: { line, cells }, at, value, onChange }: EditedRowProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const rest = cells.filter((cell, i) => i !== at && cell.trim() !== '').join(' · ');
  return (
    <li className={classesCleaning.row}>
      <TextInput
        size="sm"
        className={classesCleaning.value}
        aria-label={t('import.valueOf', { line: format.number(line) })}
        maxLength={1000}
        value={value ?? cells[at] ?? ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Text size="xs" c="dimmed" className={`foreign-text ${classesCleaning.rest}`} truncate>
        {t('import.sampleOf', { line: format.number(line), value: rest })}
      </Text>
    </li>
  );
}

function withValues(edits: Edits, values: Readonly<Record<string, string>>, at: number): Edits {
  const changed = Object.entries(values).map(([line, value]) => [line, { ...edits[line], [at + 1]: value }] as const);
  return { ...edits, ...Object.fromEntries(changed) };
}

type ChangeName = Pick<Change, 'cure' | 'field' | 'country' | 'rows'>;

/** Returns functions that describe a cure: as a button, and as a finished action. */
function useChangeText() {
  const { t, i18n } = useTranslation('contacts');
  const format = useFormat();
  const fieldName = useFieldName();
  const country = (code: string | null): string =>
    code === null ? '' : (new Intl.DisplayNames(i18n.language, { type: 'region' }).of(code) ?? code);
  const values = ({ field, country: code, rows }: ChangeName) => ({
    count: rows,
    shown: format.number(rows),
    field: fieldName(field),
    country: country(code),
  });
  return {
    cure: (change: ChangeName): string => t(`import.cure.${change.cure}`, values(change)),
    done: (change: ChangeName): string => t(`import.cured.${change.cure}`, values(change)),
  };
}

/** Changes that the import makes to the values of the file, with the first of them. */
export function Changes({ changes }: { readonly changes: readonly Change[] }) {
  const { t } = useTranslation('contacts');
  const text = useChangeText();
  if (changes.length === 0) return null;
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {t('import.changes')}
      </Title>
      <ul className={classesCleaning.groups} aria-label={t('import.changes')}>
        {changes.map((change) => (
          <li key={`${change.cure} ${change.field} ${change.country}`} className={classesCleaning.group}>
            <Text size="sm">{text.done(change)}</Text>
            <Samples samples={change.samples} />
          </li>
        ))}
      </ul>
    </Stack>
  );
}

type SamplesProps = { readonly samples: Change['samples'] };

/** The first values that a cure changes: before and after. */
function Samples({ samples }: SamplesProps) {
  const { t } = useTranslation('contacts');
  return (
    <Stack gap={2}>
      {samples.slice(0, SHOWN).map(({ line, before, after }) => (
        <Text key={line} size="xs" c="dimmed" className="foreign-text" style={{ overflowWrap: 'anywhere' }}>
          {after === '' ? t('import.sampleLeftOut', { before }) : t('import.sampleChange', { before, after })}
        </Text>
      ))}
    </Stack>
  );
}

const SHOWN = 3;
