import { Box } from '@mantine/core';
import { Link, useRouterState } from '@tanstack/react-router';
import { Suspense, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useSession } from '../../api/session.ts';
import { Hint } from '../../ui/hint.tsx';
import { NAV_GROUPS, type NavGroup, type PageEntry } from '../page-entry.ts';
import classes from './shell.module.css';

const UnreadBadge = lazyPart(() => import('./inbox-watch.tsx').then((file) => ({ default: file.UnreadBadge })));

/** The navigation. Operator pages are shown to operators only. */
export function Navigation({ pages }: { readonly pages: readonly PageEntry[] }) {
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
