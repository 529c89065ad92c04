import { Paper, Stack, Text, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { StatusBadge } from '../../ui/status-badge.tsx';

type CheckLineProps = {
  readonly name: string;
  /** null: not known. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** At the right, small: how long it took. */
  readonly note?: string;
  /** What to do, and the figures. */
  readonly children?: ReactNode;
};

/** One thing that was looked at, and what was found. */
export function CheckLine({ name, ok, detail, note, children }: CheckLineProps) {
  const { t } = useTranslation('operator');
  const [tone, word] = ok === null ? (['warning', 'notKnown'] as const) : ok ? (['good', 'good'] as const) : (['bad', 'bad'] as const);
  return (
    <Paper component="article">
      <Stack gap="xs">
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Text fw={600} size="sm">
            {name}
          </Text>
          <StatusBadge tone={tone}>{t(`health.word.${word}`)}</StatusBadge>
        </Group>
        <Group justify="space-between" gap="md" align="flex-start">
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere', flex: 1 }}>
            {detail}
          </Text>
          {note !== undefined && (
            <Text size="xs" c="dimmed" className="tabular">
              {note}
            </Text>
          )}
        </Group>
        {children}
      </Stack>
    </Paper>
  );
}
