import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { Hint } from '../ui/hint.tsx';
import { NAV_GROUPS, type NavGroup, type PageEntry } from './page-entry.ts';
import classes from './shell.module.css';

/** All pages that have a place in it; those of operators are shown to operators alone. */
export function Navigation({ pages }: { readonly pages: readonly PageEntry[] }) {
  const session = useSession();
  const shown = pages.filter(({ need }) => need?.operator !== true || session.isOperator);
  return (
    <>
      {NAV_GROUPS.map((group) => (
        <NavSection key={group} group={group} pages={shown.filter(({ nav }) => nav?.group === group)} />
      ))}
    </>
  );
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

/** A page that the person may not see stays in its place, and says why. */
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
    </Link>
  );
  if (refusal === null) return link;
  return <Hint label={t(`ui:why.${refusal}`, { scope: need?.scope })}>{link}</Hint>;
}
