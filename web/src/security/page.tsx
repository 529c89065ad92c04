import { Tabs } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { useSession } from '../api/session.ts';
import { Hint } from '../ui/hint.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import { SessionList } from './sessions/list.tsx';
import { SingleSignOnLink } from './single-sign-on-link.tsx';

const TABS = ['sessions', 'factors', 'addresses', 'audit'] as const;
type Tab = (typeof TABS)[number];
/** The tabs about the user's own access, which are for all users. */
const OWN_TABS: readonly Tab[] = ['sessions', 'factors'];
const FIELDS = { tab: choice(TABS, 'sessions') };

const FactorsTab = lazyPart(() => import('./factors/factors-tab.tsx').then((file) => ({ default: file.FactorsTab })));
const AllowList = lazyPart(() => import('./addresses/allow-list.tsx').then((file) => ({ default: file.AllowList })));
const AuditLog = lazyPart(() => import('./audit/log.tsx').then((file) => ({ default: file.AuditLog })));

/** The security page: sessions, second factors, IP allowlist and audit log. */
export function Page() {
  const { t } = useTranslation('security');
  const [{ tab }] = useUrlState(FIELDS);
  const mayAll = useSession().may({ scope: 'keys' });
  const shown: Tab = mayAll || OWN_TABS.includes(tab) ? tab : 'sessions';
  const navigate = useNavigate();
  // Each tab has its own filters.
  const open = (next: string | null): void =>
    void navigate({ to: '.', search: next === null || next === 'sessions' ? {} : { tab: next } });
  return (
    <Frame title={t('title')} description={t('description')} actions={mayAll && <SingleSignOnLink />}>
      <Tabs value={shown} onChange={open} keepMounted={false}>
        <Tabs.List mb="lg">
          {TABS.map((each) => (
            <TabName key={each} tab={each} isRefused={!mayAll && !OWN_TABS.includes(each)} />
          ))}
        </Tabs.List>
        <Tabs.Panel value={shown}>
          <Suspense fallback={<TableSkeleton />}>
            <Content tab={shown} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </Frame>
  );
}

function Content({ tab }: { readonly tab: Tab }) {
  if (tab === 'factors') return <FactorsTab />;
  if (tab === 'addresses') return <AllowList />;
  return tab === 'audit' ? <AuditLog /> : <SessionList />;
}

/** A tab that the user may not open stays focusable and shows the reason. */
function TabName({ tab, isRefused }: { readonly tab: Tab; readonly isRefused: boolean }) {
  const { t } = useTranslation('security');
  const name = t(`tab.${tab}`);
  if (!isRefused) return <Tabs.Tab value={tab}>{name}</Tabs.Tab>;
  return (
    <Hint label={t('ui:why.admin')}>
      <Tabs.Tab
        value={tab}
        aria-disabled="true"
        c="dimmed"
        style={{ cursor: 'not-allowed' }}
        onClick={(event) => event.preventDefault()}
      >
        {name}
      </Tabs.Tab>
    </Hint>
  );
}
