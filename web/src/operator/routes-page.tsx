import { Alert, Group, List, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Waypoints } from 'lucide-react';
import { Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { DialogWhile, questionTexts } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, PageFrame, Section } from '../ui/parts.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { StatusBadge } from '../ui/values.tsx';
import { ConnectionFilterBar } from './connection-choice.tsx';
import {
  type Asked,
  ConditionsText,
  type Explained,
  explainQuery,
  listRoutes,
  ROUTE_KEYS,
  ROUTES,
  type Route,
} from './routes-conditions.tsx';
import { ConnectionLink, NumberCheck, OPERATOR, Prefix } from './shared.tsx';

type CheckProps = { readonly asked: Asked; readonly onChange: (asked: Partial<Asked>) => void };

/** Shows which routes a message to a number would use, in order, and why not the others. */
function RouteCheck({ asked, onChange }: CheckProps) {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery(explainQuery(asked));
  const before = (
    <>
      <TextInput
        label={t('route.only.accountLabel')}
        inputMode="numeric"
        maxLength={15}
        value={asked.account}
        onChange={(event) => onChange({ account: event.currentTarget.value.replaceAll(/\D/g, '') })}
      />
      <TextInput
        label={t('route.only.senderLabel')}
        maxLength={20}
        value={asked.sender}
        onChange={(event) => onChange({ sender: event.currentTarget.value })}
      />
    </>
  );
  return (
    <Section title={t('route.check.title')} description={t('route.check.hint')}>
      <NumberCheck label={t('number')} value={asked.number} onChange={(number) => onChange({ number })} before={before}>
        {error && <ErrorState error={error} />}
        {data && <Answer explained={data} />}
      </NumberCheck>
    </Section>
  );
}

type ExplainedRoute = Explained['data'][number];

function Answer({ explained: { data } }: { readonly explained: Explained }) {
  const { t } = useTranslation('operator');
  const used = data.filter(({ place }) => place !== null);
  const unused = data.filter(({ place }) => place === null);
  return (
    <Stack gap="md" role="status">
      {used.length === 0 && <Alert color="amber">{t('route.check.none')}</Alert>}
      {used.length > 0 && <Routes label={t('route.check.answer')} type="ordered" routes={used} />}
      {unused.length > 0 && (
        <div>
          <Text size="sm" fw={500} mb="xs">
            {t('route.check.unused')}
          </Text>
          <Routes label={t('route.check.unused')} type="unordered" routes={unused} />
        </div>
      )}
    </Stack>
  );
}

type RoutesProps = {
  readonly label: string;
  readonly type: 'ordered' | 'unordered';
  readonly routes: readonly ExplainedRoute[];
};

function Routes({ label, type, routes }: RoutesProps) {
  return (
    <List type={type} size="sm" spacing="xs" aria-label={label}>
      {routes.map((route) => (
        <List.Item key={route.id}>
          <Group gap="sm">
            <ConnectionLink name={route.connection} />
            <Text size="sm" c="dimmed" component="div">
              <Prefix prefix={route.prefix} />
            </Text>
            <ConditionsText route={route} />
            <Quality route={route} />
            <Verdict route={route} />
          </Group>
        </List.Item>
      ))}
    </List>
  );
}

function Quality({ route: { standing, samples, delivered } }: { readonly route: ExplainedRoute }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const words = [
    ...(standing === null ? [] : [t(`route.standing.${standing}`)]),
    ...(delivered === null
      ? []
      : [t('route.check.delivered', { share: format.percent(delivered, 1), count: samples })]),
  ];
  return <Text size="sm">{words.join(', ')}</Text>;
}

function Verdict({ route: { place, obstacles } }: { readonly route: ExplainedRoute }) {
  const { t } = useTranslation('operator');
  const text =
    place === null
      ? obstacles.map((obstacle) => t(`route.obstacle.${obstacle}`)).join('; ')
      : t(place === 1 ? 'route.check.first' : 'route.check.then');
  return <Muted>{text}</Muted>;
}

const Lookups = lazyPart(() => import('./lookups.tsx').then((file) => ({ default: file.Lookups })));
const Policies = lazyPart(() => import('./route-policies.tsx').then((file) => ({ default: file.Policies })));
const AddDialog = lazyPart(() => import('./routes-add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

/** `add` opens the dialog with that connection, or with `-` for none. */
const FIELDS = { ...listFields(), connection: text(), number: text(), account: text(), sender: text(), add: text() };
const NONE = '-';

/** The page of the SMS routes. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useRouteColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(['operator', 'routes', 'list', page, limit, connection], (signal) =>
    listRoutes({ page, limit, ...(connection && { connection }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setSearch({ add: connection || NONE })}>
      {t('route.add.open')}
    </AddButton>
  );
  return (
    <PageFrame title={t('route.title')} description={t('route.description')} actions={add}>
      <ConnectionFilterBar routedBy="prefix" value={connection} onChange={(next) => setSearch({ connection: next })} />
      <DataTable<Route>
        id="operator-routes"
        label={t('route.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(route) => <DeleteRoute route={route} />}
        empty={
          <EmptyState
            icon={Waypoints}
            title={t('route.none.title')}
            text={t('route.none.text')}
            help="routing#the-order-of-decisions"
          >
            {add}
          </EmptyState>
        }
      />
      <Suspense>
        <Policies />
        <Lookups />
      </Suspense>
      <RouteCheck asked={search} onChange={setSearch} />
      <DialogWhile opened={search.add !== ''} onClose={() => setSearch({ add: '' })}>
        <AddDialog connection={search.add === NONE ? '' : search.add} />
      </DialogWhile>
    </PageFrame>
  );
}

function useRouteColumns(): readonly Column<Route>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'prefix', header: t('prefix.label'), phone: 'title', cell: ({ prefix }) => <Prefix prefix={prefix} /> },
      { id: 'order', header: t('route.order'), cell: ({ order }) => <Order order={order} /> },
      { id: 'connection', header: t('connection.one'), cell: (route) => <Through route={route} /> },
      numberColumn('priority', t('route.priority')),
      numberColumn('weight', t('route.weight')),
      { id: 'only', header: t('route.only.label'), cell: (route) => <ConditionsText route={route} /> },
      { id: 'onUnknown', header: t('route.onUnknown'), cell: ({ onUnknown }) => t(`route.unknown.${onUnknown}`) },
    ],
    [t],
  );
}

/** The position of a route: the first takes the numbers, the others take over if it fails. */
function Order({ order }: Pick<Route, 'order'>) {
  const { t } = useTranslation('operator');
  return <span>{order === 1 ? t('route.first') : t('route.reserve', { order })}</span>;
}

function Through({
  route: { connection, connectionUp },
}: {
  readonly route: Pick<Route, 'connection' | 'connectionUp'>;
}) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="xs" wrap="nowrap">
      <ConnectionLink name={connection} />
      {!connectionUp && <StatusBadge tone="warning">{t('route.isDown')}</StatusBadge>}
    </Group>
  );
}

function DeleteRoute({ route: { id, prefix, connection } }: { readonly route: Route }) {
  const { t } = useTranslation('operator');
  const of = { prefix: prefix === '' ? t('prefix.all') : `+${prefix}`, connection };
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('route.delete.label', of)}
      question={{
        ...questionTexts(t, 'route.delete', of),
        run: () => ok(api.DELETE(`${ROUTES}/{id}`, { params: { path: { id } } })),
        refresh: ROUTE_KEYS,
      }}
    />
  );
}
