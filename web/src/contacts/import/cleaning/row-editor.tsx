import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import type { Edits } from '../draft.ts';
import { type FaultGroup, listRows, type RejectedRow } from '../import.ts';
import classes from './cleaning.module.css';

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
export function RowEditor({ importId, group, at, edits, onSave }: RowEditorProps) {
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
        <ul className={classes.rows} aria-label={t('import.fixRows')}>
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
    <li className={classes.row}>
      <TextInput
        size="sm"
        className={classes.value}
        aria-label={t('import.valueOf', { line: format.number(line) })}
        maxLength={1000}
        value={value ?? cells[at] ?? ''}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Text size="xs" c="dimmed" className={`foreign-text ${classes.rest}`} truncate>
        {t('import.sampleOf', { line: format.number(line), value: rest })}
      </Text>
    </li>
  );
}

function withValues(edits: Edits, values: Readonly<Record<string, string>>, at: number): Edits {
  const changed = Object.entries(values).map(([line, value]) => [line, { ...edits[line], [at + 1]: value }] as const);
  return { ...edits, ...Object.fromEntries(changed) };
}
