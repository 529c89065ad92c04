import { Burger, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet, useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { AccountBar } from './account-bar.tsx';
import { Brand } from './brand.tsx';
import { ElsewhereBanner } from './elsewhere-banner.tsx';
import { Navigation } from './navigation.tsx';
import type { PageEntry } from '../page-entry.ts';
import classes from './shell.module.css';
import { UserMenu } from './user-menu.tsx';

const MAIN_ID = 'main';

/** The frame around every page of a signed-in user: header, navigation and content. */
export function Shell({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  useEffect(close, [pathname, close]);
  return (
    <div className={classes.shell} data-navigation={isOpen ? 'open' : 'closed'}>
      <a href={`#${MAIN_ID}`} className="skip-link">
        {t('skip')}
      </a>
      <header className={classes.header}>
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
      </header>
      <nav className={classes.navigation} aria-label={t('navigation')}>
        <Navigation pages={pages} />
      </nav>
      <main id={MAIN_ID} tabIndex={-1} className={classes.main}>
        <div className={classes.content}>
          <ElsewhereBanner />
          <Outlet />
        </div>
      </main>
    </div>
  );
}
