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
import { Eye, Search } from 'lucide-react';
import { Suspense, useCallback, useEffect, useEffectEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import { askWith, type Proof } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { DialogHost } from '../ui/dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import icon from '../ui/icon.svg';
import { callName, Initials } from '../ui/initials.tsx';
import { ButtonLink, OnDemand } from '../ui/parts.tsx';
import { Money } from '../ui/values.tsx';
import { AREAS, type Area, type PageEntry } from './page-entry.ts';
import classesSearch from './search-button.module.css';
import classes from './shell.module.css';
import { useSwitchAccount } from './switch-account.ts';

const UnreadBadge = lazyPart(() => import('./inbox-watch.tsx').then((file) => ({ default: file.UnreadBadge })));

/** The pattern of the path of the page that is shown: `/campaigns/$id`. */
const usePattern = (): string | undefined =>
  useRouterState({ select: ({ matches }) => matches.at(-1)?.fullPath as string | undefined });

/** The navigation: the entries of the account, or of the gateway, between which operators switch at its top. */
function Navigation({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const { isOperator } = useSession();
  const pattern = usePattern();
  const active = pages.find(({ path }) => path === pattern)?.area;
  const workspace = active === undefined ? 'account' : AREAS[active].workspace;
  return (
    <Box className={classes.pages}>
      {isOperator && (
        <div className={classes.workspaces} role="group" aria-label={t('workspaces')}>
          {(['account', 'gateway'] as const).map((name) => (
            <Link
              key={name}
              to={name === 'account' ? '/' : '/operator'}
              className={classes.workspace}
              data-active={name === workspace}
              activeOptions={{ exact: true }}
            >
              {t(`workspace.${name}`)}
            </Link>
          ))}
        </div>
      )}
      <ul aria-label={t(`workspace.${workspace}`)} className={classes.entries}>
        {(Object.keys(AREAS) as Area[])
          .filter((area) => AREAS[area].workspace === workspace)
          .map((area) => (
            <li key={area}>
              <NavItem area={area} pages={pages} isActive={area === active} />
            </li>
          ))}
      </ul>
    </Box>
  );
}

type NavItemProps = { readonly area: Area; readonly pages: readonly PageEntry[]; readonly isActive: boolean };

/** One navigation link; if the user may see none of its pages, it leads to the reason and shows it. */
function NavItem({ area, pages, isActive }: NavItemProps) {
  const { t } = useTranslation('app');
  const { may, refusal: refusalOf } = useSession();
  const tabs = pages.filter((page) => page.area === area && page.tab !== undefined);
  const page = tabs.find(({ need }) => may(need ?? {})) ?? tabs[0];
  if (page === undefined) return null;
  const { icon: Icon } = AREAS[area];
  const refusal = refusalOf(page.need ?? {});
  const link = (
    <Link
      to={page.path}
      className={refusal === null ? classes.link : `${classes.link} ${classes.refused}`}
      aria-current={isActive ? 'page' : undefined}
      activeOptions={{ exact: true }}
    >
      <Icon size={18} aria-hidden="true" />
      {t(`area.${area}`)}
      {area === 'inbox' && (
        <Suspense>
          <UnreadBadge />
        </Suspense>
      )}
    </Link>
  );
  if (refusal === null) return link;
  return <Hint label={t(`ui:why.${refusal}`, { scope: page.need?.scope })}>{link}</Hint>;
}

type AreaTabsProps = { readonly page: PageEntry; readonly pages: readonly PageEntry[] };

/** The pages of an area as tabs, above a page that is one of them; only those that the user may see. */
export function AreaTabs({ page, pages }: AreaTabsProps) {
  const { t } = useTranslation('app');
  const { may } = useSession();
  const tabs = pages.filter(({ area, tab, need }) => area === page.area && tab !== undefined && may(need ?? {}));
  if (page.area === undefined || page.tab === undefined || tabs.length < 2) return null;
  return (
    <nav aria-label={t(`area.${page.area}`)}>
      <ul className={classes.tabs}>
        {tabs.map(({ path, tab }) => (
          <li key={path}>
            <Link to={path} className={classes.tab} activeOptions={{ exact: true, includeSearch: false }}>
              {t(`nav.${tab}`)}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
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

const loadPanel = () => import('./search-panel.tsx').then(({ SearchPanel }) => ({ default: SearchPanel }));
const LazyPanel = lazyPart(loadPanel);
/** Long after the page, which needs the network first. */
const PRELOAD_MS = 3_000;

/** The keys on this machine: Command on a Mac, Control elsewhere. */
const KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? '⌘ K' : 'Ctrl K';

const isShortcut = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey;

/** Opens the search of the whole console, by click or by Ctrl-K on any page. The search is loaded with the first use. */
function SearchButton({ pages }: { readonly pages: readonly PageEntry[] }) {
  const { t } = useTranslation('app');
  const [isWanted, setIsWanted] = useState(false);
  const [isOpen, setIsOpen] = useState(false);
  const takeTyped = useTypedAhead(isOpen);
  const open = (): void => {
    setIsWanted(true);
    setIsOpen(true);
  };
  useEffect(() => {
    const timer = setTimeout(() => void loadPanel().catch(() => undefined), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, []);
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
          <LazyPanel opened={isOpen} onClose={() => setIsOpen(false)} pages={pages} takeTyped={takeTyped} />
        </Suspense>
      )}
    </>
  );
}

/** Keeps what is typed between the shortcut and the moment the field has the focus; returns a function that takes it. */
function useTypedAhead(isOpen: boolean): () => string {
  const typed = useRef('');
  useEffect(() => {
    if (!isOpen) return;
    const keep = (event: KeyboardEvent): void => {
      const isText = event.key.length === 1 && !event.ctrlKey && !event.metaKey && !event.altKey;
      if (!isText || document.activeElement?.matches('[role=combobox]')) return;
      typed.current += event.key;
      event.preventDefault();
    };
    globalThis.addEventListener('keydown', keep);
    return () => {
      globalThis.removeEventListener('keydown', keep);
      typed.current = '';
    };
  }, [isOpen]);
  return useCallback(() => {
    const text = typed.current;
    typed.current = '';
    return text;
  }, []);
}

/** The current account with its plan and, unless that has no limit, its credit. */
function AccountBar() {
  const { t } = useTranslation('app');
  const { account } = useSession();
  const { data: credit } = useCredit();
  return (
    <Group gap="xs" wrap="nowrap">
      <Text size="sm" fw={500} maw={200} truncate visibleFrom="sm" dir="auto">
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
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      radius="xl"
      aria-label={t('userMenu', { name: callName(user) })}
    >
      <Initials name={callName(user)} size={30} />
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
        <Text fw={600} visibleFrom="xs">
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
