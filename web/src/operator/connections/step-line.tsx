import { Group, Stack, Text } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';

type LineProps = {
  readonly icon: LucideIcon;
  readonly color: string;
  readonly name: 'resolve' | 'connect' | 'bind' | 'exchange' | 'subscribe' | 'register';
  readonly detail?: string;
  readonly took?: string;
};

/** One step of a test or a setup, with its result. */
export function Line({ icon: Icon, color, name, detail, took }: LineProps) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <Icon size={18} color={color} aria-hidden="true" style={{ flexShrink: 0, marginTop: 2 }} />
      <Stack gap={0} style={{ minWidth: 0, flex: 1 }}>
        <Text size="sm" fw={600}>
          {t(`trial.step.${name}`)}
        </Text>
        {detail !== undefined && (
          <Text size="sm" c="dimmed" className="foreign-text">
            {detail}
          </Text>
        )}
      </Stack>
      <Text size="xs" c="dimmed" className="tabular">
        {took}
      </Text>
    </Group>
  );
}
