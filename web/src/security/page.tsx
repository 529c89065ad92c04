import { Badge, Button, Group, Stack, Tabs, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Building2, Laptop, LogOut, MonitorSmartphone, Smartphone } from 'lucide-react';
import { Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { confirm, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { Hint } from '../ui/hint.tsx';
import { ButtonLink, EmptyState, PageFrame, TableSkeleton } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values.tsx';
import { deviceOf } from './security-settings.ts';

/** Returns a function that names the device of a session. */
function useDeviceName(): (entry: Pick<Entry, 'userAgent'>) => string {
  const { t } = useTranslation('security');
  return ({ userAgent }) => {
    const { browser, system } = deviceOf(userAgent);
    if (browser !== null && system !== null) return t('device.both', { browser, system });
    return browser ?? system ?? t('device.unknown');
  };
}

/** The columns of the sessions; `withPeople` adds the user, for sessions of several users. */
function useSessionColumns(withPeople: boolean): readonly Column<Entry>[] {
  const { t } = useTranslation('security');
  return useMemo(() => {
    const person: Column<Entry> = {
      id: 'username',
      header: t('session.person'),
      cell: ({ username }) => <bdi>{username}</bdi>,
    };
    return [
      { id: 'device', header: t('session.device'), phone: 'title', cell: (entry) => <Device entry={entry} /> },
      ...(withPeople ? [person] : []),
      {
        id: 'address',
        header: t('session.address'),
        cell: ({ address }) => (
          <bdi dir="ltr" className="tabular">
            {address ?? '–'}
          </bdi>
        ),
      },
      { id: 'method', header: t('session.method'), cell: ({ method }) => t(`method.${method}`) },
      { id: 'lastSeenAt', header: t('session.lastSeenAt'), cell: ({ lastSeenAt }) => <DateTime value={lastSeenAt} /> },
      { id: 'createdAt', header: t('session.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
      {
        id: 'expiresAt',
        header: t('session.expiresAt'),
        hidden: true,
        cell: ({ expiresAt }) => <DateTime value={expiresAt} show="exact" />,
      },
    ];
  }, [t, withPeople]);
}

const PHONES: readonly (string | null)[] = ['iPhone', 'iPad', 'Android'];

function Device({ entry }: { readonly entry: Entry }) {
  const { t } = useTranslation('security');
  const name = useDeviceName()(entry);
  const Icon = PHONES.includes(deviceOf(entry.userAgent).system) ? Smartphone : Laptop;
  return (
    <Group gap="xs" wrap="nowrap">
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <Stack gap={4} align="flex-start">
        <Text size="sm" fw={500}>
          {name}
        </Text>
        {entry.current && (
          <Badge color="green" miw="max-content">
            {t('session.current')}
          </Badge>
        )}
      </Stack>
    </Group>
  );
}

const SESSION_FIELDS = { ...listFields(), whose: choice(['all']) };

/** The user's own sessions; owners and administrators can show those of the whole account. */
function SessionList() {
  const { t } = useTranslation('security');
  const [search, setSearch] = useUrlState(SESSION_FIELDS);
  const { may, isElsewhere } = useSession();
  const mayAll = may({ scope: 'keys' });
  const all = mayAll && (isElsewhere || search.whose === 'all');
  const { page, limit } = search;
  const query = useListQuery(['sessions', { page, limit, all }], (signal) =>
    listSessions({ page, limit, ...(all && { all }) }, signal),
  );
  const columns = useSessionColumns(all);
  const endAll = (): void =>
    confirm({
      title: t('endOthers.title'),
      text: t('endOthers.text'),
      action: t('endOthers.submit'),
      run: endOthers,
      refresh: [['sessions']],
      done: (count) => t('endOthers.done', { count }),
    });
  const hasOthers = !all && (query.data?.total ?? 0) > 1;
  return (
    <>
      <FilterBar>
        {mayAll && !isElsewhere && (
          <ChoiceFilter
            label={t('session.mine')}
            options={[{ value: 'all', label: t('session.all') }]}
            value={search.whose}
            onChange={(whose) => setSearch({ whose })}
          />
        )}
        {hasOthers && (
          <Button variant="default" leftSection={<LogOut size={16} />} onClick={endAll}>
            {t('endOthers.open')}
          </Button>
        )}
      </FilterBar>
      <DataTable<Entry>
        id="sessions"
        label={t('tab.sessions')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(entry) => <EndIcon entry={entry} />}
        empty={<EmptyState icon={MonitorSmartphone} title={t('session.none')} text={t('session.noneText')} />}
      />
    </>
  );
}

function EndIcon({ entry }: { readonly entry: Entry }) {
  const { t } = useTranslation('security');
  const { id, username, current } = entry;
  const names = { username, device: useDeviceName()(entry) };
  const ask = (): void =>
    confirm({ ...questionTexts(t, 'end', names), run: () => endSession(id), refresh: [['sessions']] });
  // Viewers may end sessions too, because they see only their own.
  return (
    <GuardedIcon
      need={{ write: false }}
      reason={current && t('end.current')}
      label={t('end.label', names)}
      onClick={ask}
    >
      <LogOut size={16} />
    </GuardedIcon>
  );
}

const TABS = ['sessions', 'factors', 'addresses', 'audit'] as const;
type Tab = (typeof TABS)[number];
/** The tabs about the user's own access, which are for all users. */
const OWN_TABS: readonly Tab[] = ['sessions', 'factors'];
const FIELDS = { tab: choice(TABS, 'sessions') };

const FactorsTab = lazyPart(() => import('./factors-tab.tsx').then((file) => ({ default: file.FactorsTab })));
const AllowList = lazyPart(() => import('./allow-list.tsx').then((file) => ({ default: file.AllowList })));
const AuditLog = lazyPart(() => import('./audit-log.tsx').then((file) => ({ default: file.AuditLog })));

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
    <PageFrame title={t('title')} description={t('description')} actions={mayAll && <SingleSignOnLink />}>
      <Tabs value={shown} onChange={open} keepMounted={false}>
        <Tabs.List mb="lg">
          {TABS.map((each) => (
            <TabName key={each} tab={each} isRefused={!mayAll && !OWN_TABS.includes(each)} />
          ))}
        </Tabs.List>
        <Tabs.Panel value={shown}>
          <Stack>
            <Suspense fallback={<TableSkeleton />}>
              <Content tab={shown} />
            </Suspense>
          </Stack>
        </Tabs.Panel>
      </Tabs>
    </PageFrame>
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

const SESSIONS = '/api/partner-gateway/v1/sessions';

type Query = { readonly page: number; readonly limit: number; readonly all?: boolean };

const listSessions = (query: Query, signal?: AbortSignal) =>
  ok(api.GET(SESSIONS, { params: { query }, ...(signal && { signal }) }));

/** One session. */
type Entry = Awaited<ReturnType<typeof listSessions>>['data'][number];

const endSession = (id: number) => ok(api.DELETE(`${SESSIONS}/{id}`, { params: { path: { id } } }));

/** Ends the user's other sessions and returns their number. */
async function endOthers(): Promise<number> {
  return (await ok(api.DELETE(SESSIONS))).ended;
}

/** Leads to the settings of single sign-on. */
function SingleSignOnLink() {
  const { t } = useTranslation('security');
  return (
    <ButtonLink to="/security/single-sign-on" variant="default" leftSection={<Building2 size={16} />}>
      {t('singleSignOn')}
    </ButtonLink>
  );
}
