import { AppShell, Burger, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { AccountBar } from './account-bar.tsx';
import { Brand } from './brand.tsx';
import { ElsewhereBanner } from './elsewhere-banner.tsx';
import { Navigation } from './navigation.tsx';
import type { PageEntry } from './page-entry.ts';
import classes from './shell.module.css';
import { UserMenu } from './user-menu.tsx';

export const MAIN_ID = 'main';

/** What stands around every page of somebody who is signed in. */
export function Shell({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(close, [pathname]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 232, breakpoint: 'md', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'lg', lg: 'xl' }}
    >
      <a href={`#${MAIN_ID}`} className="skip-link">
        {t('skip')}
      </a>
      <AppShell.Header className={classes.bar}>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger
              opened={isOpen}
              onClick={toggle}
              hiddenFrom="md"
              size="sm"
              aria-label={t(isOpen ? 'closeNavigation' : 'openNavigation')}
              aria-expanded={isOpen}
            />
            <Brand />
          </Group>
          <Group gap="sm" wrap="nowrap">
            <AccountBar />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={classes.bar} aria-label={t('navigation')}>
        <Navigation pages={pages} />
      </AppShell.Navbar>
      <AppShell.Main id={MAIN_ID} tabIndex={-1} className={classes.main}>
        <ElsewhereBanner />
        <Outlet />
      </AppShell.Main>
    </AppShell>
  );
}
