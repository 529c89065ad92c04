import { Group, Stack, Text, ThemeIcon, Title } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';
import { HelpLink, type HelpTarget } from './help-link.tsx';

type EmptyStateProps = {
  readonly icon: LucideIcon;
  /** Name of the missing items: "No campaigns yet". */
  readonly title: string;
  /** Purpose of the missing item, and how to create it. */
  readonly text?: string;
  /** The section of the documentation that explains the first step. */
  readonly help?: HelpTarget;
  /** One or two buttons for the next step. */
  readonly children?: ReactNode;
};

/** Shown instead of an empty list or an unavailable page. */
export function EmptyState({ icon: Icon, title, text, help, children }: EmptyStateProps) {
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
      {help !== undefined && <HelpLink help={help} />}
    </Stack>
  );
}
