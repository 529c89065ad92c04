import { Group, NativeSelect, SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Ban, Check, ShieldCheck } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { lazyPart } from '../api/load.ts';
import { useSession } from '../api/session.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { moneyColumn, numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, type ListPage, useListQuery } from '../ui/data-table.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { EmptyState, PageFrame, Section } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import {
  AddService,
  listServices,
  MANAGE_NEED,
  NEED,
  NoServices,
  type Service,
  Services,
  VERIFY,
  VERIFY_KEYS,
} from './service-list.tsx';
import { DateTime, Duration, Money, MsisdnText, Num, Percent, Stat, StatusBadge, type Tone } from '../ui/values.tsx';

const GROUPS = ['country', 'network', 'range', 'channel', 'hour'] as const;
const FIELDS = { ...listFields('', 100), service: text(), by: choice(GROUPS) };
const REFRESH_MS = 15_000;

/** Makes the one page of a list that the server returns as a whole. */
const whole = <Row,>(data: readonly Row[]): ListPage<Row> => ({ data, page: 0, limit: 100, total: data.length });

const listStats = (by: (typeof GROUPS)[number], serviceId: string, signal: AbortSignal) =>
  ok(api.GET(`${VERIFY}/stats`, { params: { query: { by, ...(serviceId !== '' && { serviceId }) } }, signal }));
type Row = Awaited<ReturnType<typeof listStats>>[number];
const listRanges = (signal: AbortSignal) => ok(api.GET(`${VERIFY}/guard/ranges`, { signal }));
type Range = Awaited<ReturnType<typeof listRanges>>[number];

const ServiceDialog = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.ServiceDialog })));
const RangeDialog = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.RangeDialog })));

const editService = (service?: Service): void => openDialog(<ServiceDialog service={service} />);

/** The page of the services that verify numbers: what became of their codes, and what their guards have stopped. */
export function Page() {
  const { t } = useTranslation('verify');
  const [search, setSearch] = useUrlState(FIELDS);
  const { data: services } = useQuery({ queryKey: ['verify', 'services'], queryFn: listServices });
  const by = search.by === '' ? 'country' : search.by;
  const query = useListQuery(
    ['verify', 'stats', by, search.service],
    async (signal) => whole(await listStats(by, search.service, signal)),
    { refetchInterval: REFRESH_MS },
  );
  const columns = useStatColumns(by);
  if (services?.length === 0)
    return (
      <PageFrame title={t('title')} description={t('description')}>
        <NoServices onEdit={editService} />
      </PageFrame>
    );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={<AddService onEdit={editService} />}>
      <Group>
        <NativeSelect
          label={t('filter')}
          data={[
            { value: '', label: t('allServices') },
            ...(services ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
          value={search.service}
          onChange={({ currentTarget }) => setSearch({ service: currentTarget.value })}
        />
        <NativeSelect
          label={t('by')}
          data={GROUPS.map((value) => ({ value, label: t(`group.${value}`) }))}
          value={by}
          onChange={({ currentTarget }) => setSearch({ by: currentTarget.value as (typeof GROUPS)[number] })}
        />
      </Group>
      <Figures rows={query.data?.data} />
      <Section title={t('funnel.title')} description={t('funnel.description')}>
        <DataTable<Row>
          id="verify-stats"
          label={t('funnel.title')}
          columns={columns}
          query={query}
          rowId={({ key }) => key ?? ''}
          search={search}
          onSearch={setSearch}
          empty={
            <EmptyState
              icon={ShieldCheck}
              title={t('none.title')}
              text={t('none.text')}
              help="how-to/verify#send-and-check-a-code"
            />
          }
        />
      </Section>
      <Ranges />
      {services && <Services services={services} onEdit={editService} />}
    </PageFrame>
  );
}

const sumOf = (rows: readonly Row[] | undefined, field: 'sends' | 'approved' | 'cost' | 'moneyStopped' | 'started') =>
  rows?.reduce((sum, row) => sum + row[field], 0);

/** The figures of the last 24 hours together. */
function Figures({ rows }: { readonly rows: readonly Row[] | undefined }) {
  const { t } = useTranslation('verify');
  const { currency } = useSession().account;
  const [started, approved, cost] = [sumOf(rows, 'started'), sumOf(rows, 'approved'), sumOf(rows, 'cost')];
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      <Stat label={t('figure.started')} value={rows && <Num value={started} />} />
      <Stat
        label={t('figure.approved')}
        value={rows && <Percent share={started ? (approved ?? 0) / started : null} />}
      />
      <Stat
        label={t('figure.costPerApproval')}
        value={rows && <Money amount={approved ? (cost ?? 0) / approved : null} currency={currency} />}
      />
      <Stat
        label={t('figure.moneyStopped')}
        value={rows && <Money amount={sumOf(rows, 'moneyStopped') ?? 0} currency={currency} />}
      />
    </SimpleGrid>
  );
}

function useStatColumns(by: (typeof GROUPS)[number]): readonly Column<Row>[] {
  const { t } = useTranslation('verify');
  const { currency } = useSession().account;
  return useMemo(
    () => [
      { id: 'key', header: t(`group.${by}`), phone: 'title', cell: ({ key }) => <Subject by={by} value={key} /> },
      numberColumn('started', t('figure.started')),
      numberColumn('sends', t('column.sends')),
      numberColumn('delivered', t('column.delivered')),
      {
        id: 'approved',
        header: t('figure.approved'),
        align: 'right',
        cell: ({ approved, started }) => <Percent share={started === 0 ? null : approved / started} />,
      },
      {
        id: 'seconds',
        header: t('column.seconds'),
        align: 'right',
        cell: ({ medianSeconds }) => <Duration seconds={medianSeconds} />,
      },
      {
        id: 'cost',
        header: t('figure.costPerApproval'),
        align: 'right',
        cell: ({ costPerApproval }) => <Money amount={costPerApproval} currency={currency} />,
      },
      numberColumn('stopped', t('column.stopped')),
      moneyColumn('moneyStopped', t('figure.moneyStopped'), currency),
    ],
    [t, by, currency],
  );
}

type SubjectProps = { readonly by: (typeof GROUPS)[number]; readonly value: string | null };

/** The subject of a row: a country, network, range of numbers, channel or hour. */
function Subject({ by, value }: SubjectProps) {
  const { t, i18n } = useTranslation('ui');
  if (value === null) return <>–</>;
  if (by === 'hour') return <DateTime value={value} show="exact" />;
  if (by === 'range') return <MsisdnText number={`${value}…`} />;
  if (by === 'channel') return <>{t(`channel.${value}`, { defaultValue: value })}</>;
  return <>{by === 'country' ? new Intl.DisplayNames(i18n.language, { type: 'region' }).of(value) : value}</>;
}

const RANGE_FIELDS = { page: 0, limit: 100 };
const TONES: Readonly<Record<Range['state'], Tone>> = {
  PAUSED: 'paused',
  OPEN: 'neutral',
  RELEASED: 'good',
  BLOCKED: 'bad',
};

/** The ranges of numbers that the guard has paused, or that a user has decided about. */
function Ranges() {
  const { t } = useTranslation('verify');
  const query = useListQuery(['verify', 'ranges'], async (signal) => whole(await listRanges(signal)), {
    refetchInterval: REFRESH_MS,
  });
  const columns = useMemo(
    (): readonly Column<Range>[] => [
      {
        id: 'prefix',
        header: t('column.prefix'),
        phone: 'title',
        cell: ({ prefix }) => <MsisdnText number={`${prefix}…`} />,
      },
      {
        id: 'state',
        header: t('column.state'),
        cell: ({ state }) => <StatusBadge tone={TONES[state]}>{t(`state.${state}`)}</StatusBadge>,
      },
      { id: 'since', header: t('column.since'), cell: ({ since }) => <DateTime value={since} /> },
      {
        id: 'until',
        header: t('column.until'),
        cell: ({ until }) => (until === null ? '–' : <DateTime value={until} />),
      },
      { id: 'why', header: t('column.why'), cell: ({ reasons }) => <Why reason={reasons[0]} /> },
      {
        id: 'probes',
        header: t('column.probes'),
        cell: ({ probes, probesApproved }) => t('probes', { approved: probesApproved, all: probes }),
      },
    ],
    [t],
  );
  return (
    <Section
      title={t('ranges.title')}
      description={t('ranges.description')}
      actions={
        <AddButton need={NEED} variant="default" onClick={() => openDialog(<RangeDialog />)}>
          {t('range.open')}
        </AddButton>
      }
    >
      <DataTable<Range>
        id="verify-ranges"
        label={t('ranges.title')}
        columns={columns}
        query={query}
        rowId={({ prefix }) => prefix}
        search={RANGE_FIELDS}
        onSearch={() => undefined}
        actions={(range) => <RangeActions range={range} />}
        empty={<EmptyState icon={ShieldCheck} title={t('ranges.none')} text={t('ranges.noneText')} />}
      />
    </Section>
  );
}

/** The figures for which a range was paused, as a sentence. */
function Why({ reason }: { readonly reason: Range['reasons'][number] | undefined }) {
  const { t } = useTranslation('verify');
  if (reason?.['rule'] !== 'range_conversion') return <>–</>;
  const percent = (value: unknown): number => Math.round(Number(value) * 100);
  return (
    <>
      {t('why', { value: percent(reason['value']), limit: percent(reason['limit']), window: String(reason['window']) })}
    </>
  );
}

function RangeActions({ range: { prefix, state } }: { readonly range: Range }) {
  const { t } = useTranslation('verify');
  const decide = (verb: 'release' | 'block') => () =>
    confirm({
      ...questionTexts(t, verb, { prefix }),
      run: () => ok(api.POST(`${VERIFY}/guard/ranges/{prefix}/${verb}`, { params: { path: { prefix } } })),
      refresh: VERIFY_KEYS,
    });
  return (
    <>
      {state !== 'RELEASED' && (
        <GuardedIcon need={MANAGE_NEED} label={t('release.label', { prefix })} onClick={decide('release')}>
          <Check size={16} />
        </GuardedIcon>
      )}
      {state !== 'BLOCKED' && (
        <GuardedIcon need={NEED} label={t('block.label', { prefix })} onClick={decide('block')}>
          <Ban size={16} />
        </GuardedIcon>
      )}
    </>
  );
}
