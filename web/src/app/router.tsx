import { Box, MantineProvider } from '@mantine/core';
import { useElementSize, useTimeout } from '@mantine/hooks';
import { type QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  type AnyRouter,
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  lazyRouteComponent,
  Outlet,
  RouterProvider,
  redirect,
  useRouter,
} from '@tanstack/react-router';
import type { i18n } from 'i18next';
import { CloudOff, Compass, LockKeyhole, type LucideIcon, ServerOff, Timer, Wifi, WifiOff } from 'lucide-react';
import { type ReactNode, Suspense, useEffect, useMemo, useState } from 'react';
import { I18nextProvider, useTranslation } from 'react-i18next';
import { lazyPart, loadPart } from '../api/load.ts';
import { type Fault, useConnection } from '../api/monitor.ts';
import { createQueryClient, pauseWhileAway } from '../api/query-client.ts';
import { isSignedOut } from '../api/send.ts';
import { type Need, sessionQuery, useSession } from '../api/session.ts';
import { ButtonLink, EmptyState, ErrorState, PageFrame, PageTabs } from '../ui/parts.tsx';
import classes from './connection-frame.module.css';
import { AreaTabs, BareSkeleton, PageSkeleton, Shell } from './navigation.tsx';
import type { PageEntry } from './page-entry.ts';
import { colorSchemeManager, contrastVariables, theme } from './palette.ts';

const ICONS: Readonly<Record<Fault, LucideIcon>> = { offline: WifiOff, away: CloudOff, busy: ServerOff, slow: Timer };
const BACK_MS = 4_000;

/** The frame of all pages: a banner above them reports that the server cannot be reached, or is back. */
function ConnectionFrame() {
  const { ref, height } = useElementSize();
  return (
    <Box __vars={{ '--banner': `${height}px` }}>
      <div ref={ref} className={classes.place} aria-live="polite">
        <Banner />
      </div>
      <Outlet />
    </Box>
  );
}

function Banner() {
  const { t } = useTranslation('app');
  const { fault, changes } = useConnection();
  const isBack = useIsBack(fault);
  useStayWhile(fault !== null && changes > 0);
  if (fault === null && !isBack) return null;
  const Icon = fault === null ? Wifi : ICONS[fault];
  return (
    <div className={classes.banner} data-fault={fault ?? 'none'}>
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <span>
        {t(`connection.${fault ?? 'back'}`)}
        {fault !== null && changes > 0 && ` ${t(`connection.${WAITING[fault]}`, { count: changes })}`}
      </span>
    </div>
  );
}

const WAITING = { offline: 'waiting', away: 'waiting', busy: 'waiting', slow: 'unconfirmed' } as const;

/** True for some seconds after an outage. Slow responses do not count: nothing has to come back. */
function useIsBack(fault: Fault | null): boolean {
  const [before, setBefore] = useState(fault);
  const [isBack, setIsBack] = useState(false);
  const { start, clear } = useTimeout(() => setIsBack(false), BACK_MS);
  if (before !== fault) {
    setBefore(fault);
    setIsBack(fault === null && before !== 'slow');
  }
  useEffect(() => {
    if (isBack) start();
    return clear;
  }, [isBack, start, clear]);
  return isBack;
}

/** Asks before the window is closed, because waiting changes would be lost. */
function useStayWhile(isWaiting: boolean): void {
  useEffect(() => {
    if (!isWaiting) return;
    const stay = (event: BeforeUnloadEvent): void => event.preventDefault();
    globalThis.addEventListener('beforeunload', stay);
    return () => globalThis.removeEventListener('beforeunload', stay);
  }, [isWaiting]);
}

type Parts = { readonly pages: readonly PageEntry[]; readonly texts: i18n; readonly queries: () => QueryClient };

const root = createRootRoute({ component: ConnectionFrame });

/** The pages behind links in mails, for people who are signed out. */
const LINKS = [
  { path: '/forgotten-password', load: () => import('../account-links/forgotten-page.tsx') },
  { path: '/reset-password', load: () => import('../account-links/reset-page.tsx') },
  { path: '/accept-invitation', load: () => import('../account-links/invitation-page.tsx') },
];

/**
 * Creates the routes from the list of pages. All but the sign-in page, the end of a step-up and those behind links in
 * mails are inside the shell, which requires a session.
 */
function createConsoleRouter({ pages, texts, queries }: Parts): AnyRouter {
  const signIn = createRoute({
    getParentRoute: () => root,
    path: '/sign-in',
    component: lazyRouteComponent(() => loadPart(() => import('../sign-in/page.tsx')), 'Page'),
    loader: () => texts.loadNamespaces('sign-in'),
  });
  const confirmed = createRoute({
    getParentRoute: () => root,
    path: '/confirmed',
    component: lazyRouteComponent(() => loadPart(() => import('../sign-in/confirmed-page.tsx')), 'Page'),
    loader: () => texts.loadNamespaces('sign-in'),
  });
  const links = LINKS.map(({ path, load }) =>
    createRoute({
      getParentRoute: () => root,
      path,
      component: lazyRouteComponent(() => loadPart<Awaited<ReturnType<typeof load>>>(load), 'Page'),
      loader: () => texts.loadNamespaces('account-links'),
    }),
  );
  const shell = createRoute({
    getParentRoute: () => root,
    id: 'shell',
    beforeLoad: ({ location }) => requireSession(queries(), location.href),
    pendingComponent: BareSkeleton,
    component: () => <Shell pages={pages} />,
  });
  const nowhere = createRoute({ getParentRoute: () => shell, path: '$', component: NotFoundPage });
  const routes = pages.map((page) =>
    createRoute({
      getParentRoute: () => shell,
      path: page.path,
      loader: () => texts.loadNamespaces(page.feature),
      component: gated(page, pages),
    }),
  );
  return createRouter({
    routeTree: root.addChildren([signIn, confirmed, ...links, shell.addChildren([...routes, nowhere])]),
    // The query string is readable, with every value a string: `?status=sent&q=anna`.
    parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
    stringifySearch: writeSearch,
    defaultPreload: 'intent',
    defaultPendingMs: 300,
    defaultPendingComponent: PageSkeleton,
    defaultErrorComponent: ErrorPage,
    scrollRestoration: true,
  });
}

async function requireSession(queries: QueryClient, next: string): Promise<void> {
  try {
    await queries.ensureQueryData(sessionQuery);
  } catch (error) {
    if (isSignedOut(error)) redirect({ to: '/sign-in', search: next === '/' ? {} : { next }, throw: true });
    throw error;
  }
}

/** A lazily loaded page behind the check of its permission, with the tabs of its area. */
function gated(page: PageEntry, pages: readonly PageEntry[]) {
  const Lazy = lazyRouteComponent(() => loadPart(page.load), 'Page');
  const Gated = () => (
    <PageGate need={page.need ?? {}}>
      <PageTabs value={<AreaTabs page={page} pages={pages} />}>
        <Lazy />
      </PageTabs>
    </PageGate>
  );
  return Object.assign(Gated, { preload: Lazy.preload });
}

function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter(([, value]) => typeof value === 'number' || Boolean(value));
  const text = new URLSearchParams(given.map(([name, value]) => [name, `${value}`])).toString();
  return text === '' ? '' : `?${text}`;
}

const Notices = lazyPart(() => import('../api/notifications.tsx').then((file) => ({ default: file.NotificationArea })));

type ProvidersProps = { readonly texts: i18n; readonly pages: readonly PageEntry[] };

/** The providers of theme, texts, queries, notifications and router. */
export function Providers({ texts, pages }: ProvidersProps) {
  const { queries, router } = useMemo(() => connect(texts, pages), [texts, pages]);
  return (
    <I18nextProvider i18n={texts}>
      <MantineProvider
        theme={theme}
        cssVariablesResolver={contrastVariables}
        colorSchemeManager={colorSchemeManager}
        defaultColorScheme="auto"
        getStyleNonce={styleNonce}
        deduplicateCssVariables={false}
      >
        <QueryClientProvider client={queries}>
          <Suspense>
            <Notices />
          </Suspense>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </I18nextProvider>
  );
}

/**
 * Connects router and query client: when the session ends, the user is sent to the sign-in page and returns
 * afterwards.
 */
function connect(texts: i18n, pages: readonly PageEntry[]) {
  const router = createConsoleRouter({ texts, pages, queries: () => queries });
  let isLeaving = false;
  const queries = createQueryClient(() => {
    if (isLeaving) return;
    isLeaving = true;
    const next = router.state.location.href;
    // The cache is cleared only after the page is gone, because until then the page uses it.
    void router.navigate({ to: '/sign-in', search: next === '/' ? {} : { next } }).then(() => {
      queries.clear();
      isLeaving = false;
    });
  });
  pauseWhileAway(queries);
  return { queries, router };
}

/** Shown when a page fails: the error, the request ID for the server's log, and a retry button. */
function ErrorPage({ error, reset }: ErrorComponentProps) {
  const { t } = useTranslation('app');
  const router = useRouter();
  const tryAgain = (): void => {
    reset();
    void router.invalidate();
  };
  return (
    <PageFrame title={t('broken')}>
      <ErrorState error={error} onRetry={tryAgain} />
    </PageFrame>
  );
}

/** Shown for an unknown path. */
function NotFoundPage() {
  const { t } = useTranslation('app');
  return (
    <PageFrame title={t('notFound.title')}>
      <EmptyState icon={Compass} title={t('notFound.heading')} text={t('notFound.text')}>
        <ButtonLink to="/">{t('notFound.home')}</ButtonLink>
      </EmptyState>
    </PageFrame>
  );
}

/** Shows the page, or the reason why the user may not see it. */
function PageGate({ need, children }: { readonly need: Need; readonly children: ReactNode }) {
  const { t } = useTranslation('app');
  const refusal = useSession().refusal(need);
  if (refusal === null) return children;
  return (
    <PageFrame title={t('notAllowed.title')}>
      <EmptyState
        icon={LockKeyhole}
        title={t('notAllowed.heading')}
        text={t(`ui:why.${refusal}`, { scope: need.scope })}
      >
        <ButtonLink to="/">{t('notAllowed.home')}</ButtonLink>
      </EmptyState>
    </PageFrame>
  );
}

/**
 * The nonce for styles created at run time; the server writes a new one into each page
 * (src/core/http/pages.ts).
 */
const styleNonce = (): string => document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';

/** react-remove-scroll, which Mantine uses to lock the page behind a dialog, looks for the nonce under this name. */
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });
