import { Group, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

type EmptyStateProps = {
  readonly icon: LucideIcon;
  /** What is not there. */
  readonly title: string;
  /** What it is for, and how it comes about. */
  readonly text?: string;
  /** The next step: a button or two. */
  readonly children?: ReactNode;
};

/** In place of a list that holds nothing, or of a page that cannot be shown. */
export function EmptyState({ icon: Icon, title, text, children }: EmptyStateProps) {
  return (
    <Stack align="center" gap="sm" py={48} px="md" ta="center">
      <ThemeIcon size={52} radius="xl" variant="light" color="gray">
        <Icon size={26} aria-hidden="true" />
      </ThemeIcon>
      <Title order={2} size="h4">
        {title}
      </Title>
      {text !== undefined && (
        <Text c="dimmed" size="sm" maw="55ch">
          {text}
        </Text>
      )}
      {children !== undefined && <Group mt="xs">{children}</Group>}
    </Stack>
  );
}
