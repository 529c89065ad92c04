import { Group, Paper, Skeleton, Stack, Text } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

type StatProps = {
  readonly label: string;
  /** The figure: `<Num />`, `<Money />` or `<Percent />`; undefined while loading. */
  readonly value: ReactNode;
  /** A note, such as the reference value of the figure. */
  readonly note?: ReactNode;
  readonly icon?: LucideIcon;
};

/** One key figure; use several in a `SimpleGrid`. */
export function Stat({ label, value, note, icon: Icon }: StatProps) {
  return (
    <Paper p="md">
      <Stack gap={4} component="dl" m={0}>
        <Group justify="space-between" wrap="nowrap" gap="xs" component="dt">
          <Text size="sm" c="dimmed" component="span">
            {label}
          </Text>
          {Icon && <Icon size={16} aria-hidden="true" color="var(--mantine-color-dimmed)" />}
        </Group>
        <Text component="dd" m={0} fz={24} lh={1.25} fw={650} className="tabular">
          {value === undefined ? <Skeleton h={30} w={96} /> : value}
        </Text>
        {note !== undefined && note !== false && (
          <Text component="dd" m={0} size="xs" c="dimmed">
            {note}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}
