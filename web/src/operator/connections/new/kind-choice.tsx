import { Radio, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { KindName } from '../kind.ts';
import classes from './kind-choice.module.css';

type KindChoiceProps = {
  readonly kinds: readonly KindName[];
  readonly kind: KindName;
  readonly onChange: (kind: string) => void;
};

/** The choice of the connection's protocol. */
export function KindChoice({ kinds, kind, onChange }: KindChoiceProps) {
  const { t } = useTranslation('operator');
  return (
    <Radio.Group value={kind} onChange={onChange} aria-label={t('wizard.kind')}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mt="md">
        {kinds.map((each) => (
          <Radio.Card key={each} value={each} p="md" className={classes.card}>
            <Stack gap={6}>
              <Text fw={600}>{t(`kind.${each}.name`)}</Text>
              <Text size="sm" c="dimmed">
                {t(`kind.${each}.about`)}
              </Text>
              <Text size="xs" c="dimmed">
                {t(`kind.${each}.needs`)}
              </Text>
            </Stack>
          </Radio.Card>
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}
