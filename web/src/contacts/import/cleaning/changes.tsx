import { Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Change } from '../import.ts';
import classes from './cleaning.module.css';
import { useChangeText } from './change-text.ts';
import { Samples } from './samples.tsx';

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
      <ul className={classes.groups} aria-label={t('import.changes')}>
        {changes.map((change) => (
          <li key={`${change.cure} ${change.field} ${change.country}`} className={classes.group}>
            <Text size="sm">{text.done(change)}</Text>
            <Samples samples={change.samples} />
          </li>
        ))}
      </ul>
    </Stack>
  );
}
