import { Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { StatusBadge } from '../../ui/values/status-badge.tsx';

type CheckLineProps = {
  readonly name: ReactNode;
  /** True if the check passed; null if unknown. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** A short note on the right, such as the duration. */
  readonly note?: string;
  /** Advice and figures. */
  readonly children?: ReactNode;
};

/** One check with its result. */
export function CheckLine({ name, ok, detail, note, children }: CheckLineProps) {
  const { t } = useTranslation('operator');
  const [tone, word] =
    ok === null ? (['warning', 'notKnown'] as const) : ok ? (['good', 'good'] as const) : (['bad', 'bad'] as const);
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Text fw={600} size="sm" component="div">
            {name}
          </Text>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {detail}
          </Text>
        </Stack>
        <Stack gap={4} align="flex-end">
          <StatusBadge tone={tone}>{t(`health.word.${word}`)}</StatusBadge>
          {note !== undefined && (
            <Text size="xs" c="dimmed" className="tabular">
              {note}
            </Text>
          )}
        </Stack>
      </Group>
      {children}
    </Stack>
  );
}
