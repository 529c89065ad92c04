import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { Change } from '../import.ts';

type SamplesProps = { readonly samples: Change['samples'] };

/** The first values that a cure changes: before and after. */
export function Samples({ samples }: SamplesProps) {
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
