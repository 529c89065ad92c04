import { Group } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ButtonLink } from '../ui/link.tsx';
import { Page as Frame } from '../ui/page.tsx';

const PARTS = [
  ['credit', '/account'],
  ['campaigns', '/account/campaigns'],
  ['numbers', '/account/numbers'],
  ['senders', '/account/senders'],
  ['templates', '/account/templates'],
] as const;

type AccountFrameProps = {
  readonly part: (typeof PARTS)[number][0];
  readonly actions?: ReactNode;
  readonly children: ReactNode;
};

/** The frame of the account pages: title, description and the navigation between them. */
export function AccountFrame({ part, actions, children }: AccountFrameProps) {
  const { t } = useTranslation('account');
  const { pathname } = useLocation();
  return (
    <Frame title={t(`part.${part}.title`)} description={t(`part.${part}.description`)} actions={actions}>
      <Group component="nav" gap={4} aria-label={t('parts')}>
        {PARTS.map(([name, to]) => (
          <ButtonLink
            key={name}
            to={to}
            size="xs"
            variant={pathname === to ? 'light' : 'subtle'}
            color={pathname === to ? 'amber' : 'gray'}
            {...(pathname === to && { 'aria-current': 'page' })}
          >
            {t(`part.${name}.label`)}
          </ButtonLink>
        ))}
      </Group>
      {children}
    </Frame>
  );
}
