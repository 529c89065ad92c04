import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../ui/values/format.ts';
import type { ChangeDraft, Cures, Draft } from '../draft.ts';
import type { Change, FaultGroup, Import } from '../import.ts';
import classes from './cleaning.module.css';
import { useChangeText, useFieldName } from './change-text.ts';
import { RowEditor } from './row-editor.tsx';
import { Samples } from './samples.tsx';

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
      <ul className={classes.groups} aria-label={t('import.problems')}>
        {groups.map((group) => (
          <li key={`${group.cause} ${group.field}`} className={classes.group}>
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
          <Text size="sm" fw={600}>
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
        <div className={classes.cures}>
          {cures.map((change) => (
            <div key={`${change.cure} ${change.country}`} className={classes.cure}>
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
  if (cure === 'drop') return { ...cures, drop: [...cures.drop, field] };
  if (cure === 'country') return country === null ? cures : { ...cures, countries: [...cures.countries, country] };
  return { ...cures, [cure]: true };
}
