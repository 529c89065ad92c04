import {
  ActionIcon,
  Alert,
  Badge,
  Box,
  Burger,
  Button,
  Group,
  Skeleton,
  Stack,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Link, Outlet, useLocation, useRouterState } from '@tanstack/react-router';
import { CircleUserRound, Eye, Search } from 'lucide-react';
import { Suspense, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import { askWith, type Proof } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { DialogHost } from '../ui/dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import icon from '../ui/icon.svg';
import { ButtonLink, OnDemand } from '../ui/parts.tsx';
import { Money } from '../ui/values.tsx';
import { NAV_GROUPS, type NavGroup, type PageEntry } from './page-entry.ts';
import classesSearch from './search-button.module.css';
import classes from './shell.module.css';
import { useSwitchAccount } from './switch-account.ts';

const UnreadBadge = lazyPart(() => import('./inbox-watch.tsx').then((file) => ({ default: file.UnreadBadge })));

/** The navigation. Operator pages are shown to operators only. */
function Navigation({ pages }: { readonly pages: readonly PageEntry[] }) {
  const session = useSession();
  const shown = pages.filter(({ nav, need }) => nav && (need?.operator !== true || session.isOperator));
  return (
    <Box ref={useActiveInView()} className={classes.pages} __vars={{ '--pages': String(shown.length) }}>
      {NAV_GROUPS.map((group) => (
        <NavSection key={group} group={group} pages={shown.filter(({ nav }) => nav?.group === group)} />
      ))}
    </Box>
  );
}

/** Space kept above or below the link that is scrolled into view, in pixels. */
const MARGIN = 44;

/**
 * Scrolls the active link into view: operators have more pages than fit into a low window. `scrollIntoView` is not
 * used, because the Tab key would then start there.
 */
function useActiveInView() {
  const list = useRef<HTMLDivElement>(null);
  const pathname = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  useEffect(() => {
    const frame = list.current?.getBoundingClientRect();
    const link = list.current?.querySelector('[data-active]')?.getBoundingClientRect();
    if (frame === undefined || link === undefined) return;
    const [above, below] = [link.top - MARGIN - frame.top, link.bottom + MARGIN - frame.bottom];
    list.current?.scrollBy(0, Math.min(above, 0) + Math.max(below, 0));
  }, [pathname]);
  return list;
}

function NavSection({ group, pages }: { readonly group: NavGroup; readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  if (pages.length === 0) return null;
  const id = `navigation-${group}`;
  return (
    <div className={classes.group}>
      <div id={id} className={classes.groupLabel}>
        {t(`navGroup.${group}`)}
      </div>
      <ul aria-labelledby={id} style={{ listStyle: 'none', margin: 0, padding: 0 }}>
        {pages.map((page) => (
          <li key={page.path}>
            <NavItem page={page} />
          </li>
        ))}
      </ul>
    </div>
  );
}

/** One navigation link; if the user may not see the page, it is disabled and shows the reason. */
function NavItem({ page: { path, nav, need } }: { readonly page: PageEntry }) {
  const { t } = useTranslation('app');
  const refusal = useSession().refusal(need ?? {});
  if (nav === undefined) return null;
  const link = (
    <Link
      to={path}
      className={refusal === null ? classes.link : `${classes.link} ${classes.refused}`}
      activeOptions={{ exact: path === '/' || path === '/operator', includeSearch: false }}
      activeProps={{ 'data-active': 'true' }}
    >
      <nav.icon size={18} aria-hidden="true" />
      {t(`nav.${nav.label}`)}
      {path === '/inbox' && (
        <Suspense>
          <UnreadBadge />
        </Suspense>
      )}
    </Link>
  );
  if (refusal === null) return link;
  return <Hint label={t(`ui:why.${refusal}`, { scope: need?.scope })}>{link}</Hint>;
}

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
      <DialogHost key={pathname} />
      <ProofDialogs />
    </div>
  );
}

const SignInAgain = lazyPart(() =>
  import('../sign-in/sign-in-again.tsx').then((file) => ({ default: file.SignInAgain })),
);
const StepUpDialog = lazyPart(() =>
  import('../sign-in/step-up-dialog.tsx').then((file) => ({ default: file.StepUpDialog })),
);

type Settle = (given: boolean) => void;
type Waiting = Readonly<Partial<Record<Proof, Settle>>>;

/** Opens a dialog over the page when a request needs the user to sign in again or to confirm who they are. */
function ProofDialogs() {
  const [waiting, setWaiting] = useState<Waiting>({});
  const [wasAsked, setWasAsked] = useState<Readonly<Partial<Record<Proof, true>>>>({});
  useEffect(() => {
    const open = new Set<Settle>();
    const stop = askWith(
      (proof) =>
        new Promise((resolve) => {
          open.add(resolve);
          setWasAsked((before) => ({ ...before, [proof]: true }));
          setWaiting((before) => ({ ...before, [proof]: resolve }));
        }),
    );
    return () => {
      stop();
      // A page that is left keeps no request waiting.
      for (const settle of open) settle(false);
    };
  }, []);
  const settle = (proof: Proof, given: boolean): void => {
    waiting[proof]?.(given);
    setWaiting((before) => ({ ...before, [proof]: undefined }));
  };
  // Dialogs of the page below close on Escape as well, and their input would be lost.
  const onEscape = useEffectEvent((event: KeyboardEvent) => {
    const isOpen = waiting['sign-in'] !== undefined || waiting['step-up'] !== undefined;
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopImmediatePropagation();
    if (waiting['sign-in'] === undefined) settle('step-up', false);
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => onEscape(event);
    globalThis.addEventListener('keydown', listen, { capture: true });
    return () => globalThis.removeEventListener('keydown', listen, { capture: true });
  }, []);
  return (
    <Suspense>
      {wasAsked['step-up'] && (
        <StepUpDialog opened={waiting['step-up'] !== undefined} onSettled={(given) => settle('step-up', given)} />
      )}
      {wasAsked['sign-in'] && (
        <SignInAgain opened={waiting['sign-in'] !== undefined} onSettled={(given) => settle('sign-in', given)} />
      )}
    </Suspense>
  );
}

const LazyPanel = lazyPart(() => import('./search-panel.tsx').then(({ SearchPanel }) => ({ default: SearchPanel })));

/** The keys on this machine: Command on a Mac, Control elsewhere. */
const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K';

const isShortcut = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey;

/** Opens the search of the whole console, by click or by Ctrl-K on any page. The search is loaded with the first use. */
function SearchButton({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isWanted, setIsWanted] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const open = (): void => {
    setIsWanted(true);
    setIsOpen(true);
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => {
      if (!isShortcut(event)) return;
      event.preventDefault();
      setIsWanted(true);
      setIsOpen((before) => !before);
    };
    globalThis.addEventListener('keydown', listen);
    return () => globalThis.removeEventListener('keydown', listen);
  }, []);
  return (
    <>
      <UnstyledButton
        className={classesSearch.button}
        onClick={open}
        aria-label={t('search')}
        aria-haspopup="dialog"
        aria-keyshortcuts="Control+K Meta+K"
      >
        <Search size={18} aria-hidden="true" />
        <span className={classesSearch.wide}>{t('search')}</span>
        {/* Shown by the style: screen readers have aria-keyshortcuts, and visible text must be part of the name. */}
        <kbd className={classesSearch.keys} data-keys={KEYS} />
      </UnstyledButton>
      {isWanted && (
        <Suspense>
          <LazyPanel opened={isOpen} onClose={() => setIsOpen(false)} pages={pages} />
        </Suspense>
      )}
    </>
  );
}

/** The current account with its plan and, unless that has no limit, its credit. */
function AccountBar() {
  const { t } = useTranslation('app');
  const { account } = useSession();
  const { data: credit } = useCredit();
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" fw={600} maw={200} truncate visibleFrom="sm" dir="auto">
        {account.name}
      </Text>
      <Badge color="gray" visibleFrom="sm">
        {t(`plan.${account.plan}`)}
      </Badge>
      {credit && account.plan !== 'unlimited' && (
        <Hint label={t('creditHint')}>
          <ButtonLink to="/account" variant="default" size="xs">
            <VisuallyHidden>{t('credit')}</VisuallyHidden>
            <Money amount={credit.availableCredit} currency={credit.currency} />
          </ButtonLink>
        </Hint>
      )}
    </Group>
  );
}

const LazyItems = lazyPart(() =>
  import('./user-menu-items.tsx').then(({ UserMenuItems }) => ({ default: UserMenuItems })),
);

/** The user menu: profile, color scheme, language and sign-out. */
function UserMenu() {
  const { t } = useTranslation('app');
  const { user } = useSession();
  const button = (
    <ActionIcon variant="subtle" color="gray" size="lg" radius="xl" aria-label={t('userMenu', { name: user.username })}>
      <CircleUserRound size={24} />
    </ActionIcon>
  );
  return (
    <OnDemand button={button} kind="menu">
      <LazyItems button={button} />
    </OnDemand>
  );
}

/** Placeholder while a page's code or data is loading. */
export function PageSkeleton() {
  return (
    <Stack gap="lg" aria-hidden="true">
      <Skeleton h={32} w={240} />
      <Skeleton h={48} />
      <Skeleton h={280} />
    </Stack>
  );
}

/** The same before the shell is there, which gives pages their margins. */
export const BareSkeleton = () => (
  <Box p="xl">
    <PageSkeleton />
  </Box>
);

/** Banner for an operator who is in another account. */
function ElsewhereBanner() {
  const { t } = useTranslation('app');
  const { account, isElsewhere } = useSession();
  const switching = useSwitchAccount();
  if (!isElsewhere) return null;
  return (
    <Alert color="blue" icon={<Eye size={18} />} mb="lg" py="xs" role="status">
      <Group justify="space-between">
        <Text size="sm">{t('elsewhere', { account: account.name })}</Text>
        <Button size="xs" variant="default" loading={switching.busy} onClick={() => switching.run(null)}>
          {t('backToOwn')}
        </Button>
      </Group>
    </Alert>
  );
}

/** The logo and the name, linked to the overview. */
function Brand() {
  const { t } = useTranslation('app');
  return (
    <Link to="/" style={{ textDecoration: 'none', color: 'inherit' }}>
      <Group gap={10} wrap="nowrap">
        <img src={icon} alt="" width={28} height={28} />
        <Text fw={700} visibleFrom="xs">
          Heliograph
        </Text>
        <VisuallyHidden>{t('toOverview')}</VisuallyHidden>
      </Group>
    </Link>
  );
}

const Enrol = lazyPart(() => import('../security/enrol-page.tsx').then((file) => ({ default: file.EnrolPage })));

/** Shown instead of every page to a user who has yet to add the second factor that the account requires. */
const EnrolFirst = ({ onDone }: { readonly onDone: () => void }) => (
  <Suspense fallback={<PageSkeleton />}>
    <Enrol onDone={onDone} />
  </Suspense>
);
