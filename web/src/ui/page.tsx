import { Breadcrumbs, Group, Stack, Text, Title } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { TextLink } from './link.tsx';
import { setPageTitle } from './window-title.ts';

type PageProps = {
  /** The h1 and the window title; may be text from outside. */
  readonly title: string;
  /** A status next to the title. */
  readonly badge?: ReactNode;
  /** One sentence about the purpose of the page. */
  readonly description?: ReactNode;
  /** The buttons at the top right, the primary one last. */
  readonly actions?: ReactNode;
  /** The breadcrumb: the pages above this one. */
  readonly trail?: readonly { readonly label: string; readonly to: string }[];
  readonly children: ReactNode;
};

/** The frame of every page: breadcrumb, h1 (focused after navigation), actions and content. */
export function Page({ title, badge, description, actions, trail, children }: PageProps) {
  const heading = usePageFocus(title);
  return (
    <Stack gap="lg">
      {trail && <Trail trail={trail} />}
      <Group justify="space-between" align="flex-start" gap="md">
        <Stack gap={4} style={{ minWidth: 0, flex: '1 1 320px' }}>
          <Group gap="sm">
            <Title order={1} ref={heading} tabIndex={-1} dir="auto" style={{ overflowWrap: 'anywhere' }}>
              {title}
            </Title>
            {badge}
          </Group>
          {description && (
            <Text c="dimmed" size="sm" maw="75ch" style={{ textWrap: 'pretty' }}>
              {description}
            </Text>
          )}
        </Stack>
        {actions && <Group gap="sm">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  );
}

function Trail({ trail }: { readonly trail: NonNullable<PageProps['trail']> }) {
  const { t } = useTranslation('ui');
  return (
    <nav aria-label={t('trail')}>
      <Breadcrumbs>
        {trail.map(({ label, to }) => (
          <TextLink key={to} to={to}>
            {label}
          </TextLink>
        ))}
      </Breadcrumbs>
    </nav>
  );
}

let lastPath: string | null = null;

/**
 * Focuses the heading after navigation, so that users of screen readers and keyboards start at the top of the new
 * page; not on the first page. Uses the path of the rendered page, because the path in the URL changes while the
 * previous page is still shown.
 */
function usePageFocus(title: string) {
  const heading = useRef<HTMLHeadingElement>(null);
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname ?? null });
  useEffect(() => {
    if (pathname === null) return;
    if (lastPath !== null && lastPath !== pathname) heading.current?.focus({ preventScroll: true });
    lastPath = pathname;
  }, [pathname]);
  useEffect(() => {
    setPageTitle(title);
  }, [title]);
  return heading;
}
