import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  type AnyRouter,
} from '@tanstack/react-router';
import type { i18n } from 'i18next';
import { loadPart } from '../api/connection/load.ts';
import { isSignedOut } from '../api/errors.ts';
import { sessionQuery } from '../api/session.ts';
import { ConnectionFrame } from './connection-frame.tsx';
import { ErrorPage, NotFoundPage } from './error-page.tsx';
import type { PageEntry } from './page-entry.ts';
import { PageGate } from './page-gate.tsx';
import { BareSkeleton, PageSkeleton } from './page-skeleton.tsx';
import { Shell } from './shell/shell.tsx';

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
export function createConsoleRouter({ pages, texts, queries }: Parts): AnyRouter {
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
      component: gated(page),
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

/** A lazily loaded page behind the check of its permission. */
function gated({ load, need }: PageEntry) {
  const Lazy = lazyRouteComponent(() => loadPart(load), 'Page');
  const Gated = () => (
    <PageGate need={need ?? {}}>
      <Lazy />
    </PageGate>
  );
  return Object.assign(Gated, { preload: Lazy.preload });
}

function writeSearch(search: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(search).filter(([, value]) => typeof value === 'number' || Boolean(value));
  const text = new URLSearchParams(given.map(([name, value]) => [name, `${value}`])).toString();
  return text === '' ? '' : `?${text}`;
}
