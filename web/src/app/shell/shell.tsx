import { Burger, Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Outlet, useLocation } from '@tanstack/react-router';
import { Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useSession } from '../../api/session.ts';
import { AccountBar } from './account-bar.tsx';
import { Brand } from './brand.tsx';
import { ElsewhereBanner } from './elsewhere-banner.tsx';
import { EnrolFirst } from './enrol-first.tsx';
import { Navigation } from './navigation.tsx';
import type { PageEntry } from '../page-entry.ts';
import { ProofDialogs } from './proof-dialogs.tsx';
import { SearchButton } from './search/search-button.tsx';
import classes from './shell.module.css';
import { UserMenu } from './user-menu.tsx';

const AlertBell = lazyPart(() => import('./alert-bell.tsx').then((file) => ({ default: file.AlertBell })));
const InboxWatch = lazyPart(() => import('./inbox-watch.tsx').then((file) => ({ default: file.InboxWatch })));

const MAIN_ID = 'main';

/** The frame around every page of a signed-in user: header, navigation and content. */
export function Shell({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  const { mustEnrol, isOperator } = useSession();
  // It stays open until the user has seen the recovery codes, although the factor counts before.
  const [isEnrolling, setEnrolling] = useState(mustEnrol);
  if (mustEnrol && !isEnrolling) setEnrolling(true);
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
          <SearchButton pages={pages} />
          <AccountBar />
          {isOperator && (
            <Suspense>
              <AlertBell />
            </Suspense>
          )}
          <UserMenu />
        </Group>
      </header>
      <nav className={classes.navigation} aria-label={t('navigation')}>
        <Navigation pages={pages} />
      </nav>
      <main id={MAIN_ID} tabIndex={-1} className={classes.main}>
        <div className={classes.content}>
          <ElsewhereBanner />
          {isEnrolling ? <EnrolFirst onDone={() => setEnrolling(false)} /> : <Outlet />}
        </div>
      </main>
      <Suspense>
        <InboxWatch />
      </Suspense>
      <ProofDialogs />
    </div>
  );
}
