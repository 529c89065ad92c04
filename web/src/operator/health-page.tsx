import { Group, NativeSelect, Paper, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ReceiptText, RefreshCw } from 'lucide-react';
import { Children, type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, PageFrame, TableSkeleton } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState, whole } from '../ui/url-state.ts';
import { DateTime, Percent, StatusBadge } from '../ui/values.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { ConnectionFilterBar } from './connection-choice.tsx';
import classes from './lines.module.css';
import { AccountLink, ConnectionLink, OPERATOR, Tabs, useServerText } from './shared.tsx';

const RECEIPT_FIELDS = { ...listFields(), connection: text() };

const listHours = (query: { connection?: string }, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/receipts/hours', { params: { query }, signal }));
type Hour = Awaited<ReturnType<typeof listHours>>['data'][number];

/** The share of parts with a final receipt, per carrier and hour of the last day. */
function Receipts() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(RECEIPT_FIELDS);
  const columns = useHourColumns();
  const { page, limit, connection } = search;
  const query = useQuery({
    queryKey: ['operator', 'health', 'receipts', connection],
    queryFn: ({ signal }) => listHours({ ...(connection && { connection }) }, signal),
    placeholderData: keepPreviousData,
    select: ({ data }) => ({
      data: data.toReversed().slice(page * limit, (page + 1) * limit),
      page,
      limit,
      total: data.length,
    }),
  });
  return (
    <Stack gap="lg">
      <Text size="sm" c="dimmed" maw="75ch">
        {t('receipts.text')}
      </Text>
      <ConnectionFilterBar value={connection} onChange={(next) => setSearch({ connection: next })} />
      <DataTable<Hour>
        id="operator-receipts"
        label={t('health.tab.receipts')}
        columns={columns}
        query={query}
        rowId={({ hour, connection: of }) => `${hour} ${of}`}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={ReceiptText} title={t('receipts.none.title')} text={t('receipts.none.text')} />}
      />
    </Stack>
  );
}

function useHourColumns(): readonly Column<Hour>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'hour',
        header: t('receipts.hour'),
        phone: 'title',
        cell: ({ hour }) => <DateTime value={hour} show="exact" />,
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      numberColumn('submitted', t('receipts.submitted')),
      numberColumn('final', t('receipts.final')),
      {
        id: 'share',
        header: t('receipts.share'),
        align: 'right',
        cell: ({ finalPercent }) => <Percent share={finalPercent / 100} />,
      },
      numberColumn('open', t('receipts.open')),
      numberColumn('unmatched', t('receipts.unmatched')),
    ],
    [t],
  );
}

const HOURS = [24, 72, 168] as const;
const RECONCILIATION_FIELDS = { hours: whole(24) };

const reconcile = (hours: number, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/reconciliation', { params: { query: { hours } }, signal }));
type Check = Awaited<ReturnType<typeof reconcile>>['checks'][number];

/** The five reconciliation checks. They read whole tables, so they run on request only. */
function Reconciliation() {
  const { t } = useTranslation('operator');
  const [{ hours }, setSearch] = useUrlState(RECONCILIATION_FIELDS);
  const query = useQuery({
    queryKey: ['operator', 'health', 'reconciliation', hours],
    queryFn: ({ signal }) => reconcile(hours, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const choice = (
    <NativeSelect
      label={t('health.hours')}
      data={HOURS.map((value) => ({ value: String(value), label: t('health.lastHours', { count: value }) }))}
      value={String(hours)}
      onChange={(event) => setSearch({ hours: Number(event.currentTarget.value) })}
    />
  );
  return (
    <Checks
      label={t('health.tab.reconciliation')}
      query={query}
      rows={5}
      resultsOf={({ checks }) => checks.map((each) => each.ok)}
      options={choice}
      note={({ asOf }) => <AsOf at={asOf} />}
    >
      {({ checks }) => checks.map((check) => <CheckResult key={check.name} check={check} />)}
    </Checks>
  );
}

function AsOf({ at }: { readonly at: string }) {
  const { t } = useTranslation('operator');
  return (
    <Text size="sm" c="dimmed" component="div">
      {t('health.asOf')} <DateTime value={at} />
    </Text>
  );
}

function CheckResult({ check: { name, ok: isGood, detail, durationMs, data } }: { readonly check: Check }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return (
    <CheckLine
      name={t(`health.check.${name}.name`)}
      ok={isGood}
      detail={isGood ? t(`health.check.${name}.good`) : detail}
      note={format.number(durationMs, { style: 'unit', unit: 'millisecond' })}
    >
      {isGood === false && <Text size="sm">{t(`health.check.${name}.advice`)}</Text>}
      {isGood === false && data.length > 0 && <Differences rows={data} />}
    </CheckLine>
  );
}

type ChecksProps<T> = {
  readonly label: string;
  readonly query: {
    readonly data: T | undefined;
    readonly error: Error | null;
    readonly isFetching: boolean;
    refetch(): unknown;
  };
  /** The approximate number of checks, for the placeholder. */
  readonly rows: number;
  /** Options above the checks, on the left. */
  readonly options?: ReactNode;
  /** A note next to the button. */
  readonly note?: (data: T) => ReactNode;
  /** Results of the checks: true if passed; null if not known. */
  readonly resultsOf: (data: T) => readonly (boolean | null)[];
  /** Renders one element per check. */
  readonly children: (data: T) => ReactNode;
};

/** A list of checks with a button that repeats them. */
function Checks<T>({ label, query, rows, options, note, resultsOf, children }: ChecksProps<T>) {
  const { t } = useTranslation('operator');
  const { data, error, isFetching, refetch } = query;
  const again = (): void => void refetch();
  return (
    <Stack>
      <Group justify={options === undefined ? 'flex-end' : 'space-between'} align="flex-end">
        {options}
        <Group gap="sm">
          {data !== undefined && note?.(data)}
          <GuardedButton
            need={OPERATOR}
            variant="default"
            leftSection={<RefreshCw size={16} />}
            loading={isFetching}
            onClick={again}
          >
            {t('health.again')}
          </GuardedButton>
        </Group>
      </Group>
      {error && data === undefined && <ErrorState error={error} onRetry={again} />}
      {!error && data === undefined && <TableSkeleton rows={rows} />}
      {data !== undefined && <Summary results={resultsOf(data)} />}
      {data !== undefined && <CheckList label={label}>{children(data)}</CheckList>}
    </Stack>
  );
}

/** The checks, separated by lines. */
const CheckList = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <Paper p="lg">
    <ul className={classes.list} aria-label={label}>
      {Children.map(children, (child) => (
        <li className={classes.item}>{child}</li>
      ))}
    </ul>
  </Paper>
);

type Row = Readonly<Record<string, unknown>>;

/** The columns that differences and sums may have, in order. */
const COLUMNS = [
  'accountId',
  'of',
  'expected',
  'found',
  'connection',
  'reason',
  'receipts',
  'oldest',
  'currency',
  'outside',
  'available',
  'frozen',
  'earned',
] as const;
type Name = (typeof COLUMNS)[number];

/** Differences that a check found, or the sums behind it, as a table. */
function Differences({ rows }: { readonly rows: readonly Row[] }) {
  const { t } = useTranslation('operator');
  const shown = COLUMNS.filter((name) => rows.some((row) => name in row));
  const columns = shown.map((name): SmallColumn<Row> => {
    const isNumber = name !== 'accountId' && rows.some((row) => typeof row[name] === 'number');
    return {
      id: name,
      header: t(`health.difference.${name}`),
      cell: (row) => <Value name={name} value={row[name]} />,
      ...(isNumber && { align: 'right' }),
    };
  });
  return (
    <SmallTable label={t('health.differences')} rows={rows} rowId={(row) => JSON.stringify(row)} columns={columns} />
  );
}

function Value({ name, value }: { readonly name: Name; readonly value: unknown }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  if (name === 'accountId') return <AccountLink id={Number(value)} name={`#${Number(value)}`} />;
  if (name === 'connection') return <ConnectionLink name={String(value)} />;
  if (name === 'oldest') return <DateTime value={String(value)} />;
  if (name === 'of') return <span>{t(`health.figure.${String(value)}`)}</span>;
  if (typeof value === 'number')
    return <span className="tabular">{format.number(value, { maximumFractionDigits: 6 })}</span>;
  return <span className="foreign-text">{String(value)}</span>;
}

type CheckLineProps = {
  readonly name: ReactNode;
  /** True if the check passed; null if unknown. */
  readonly ok: boolean | null;
  readonly detail: string;
  /** A short note on the right, such as the duration. */
  readonly note?: string;
  /** Advice and figures. */
  readonly children?: ReactNode;
};

/** One check with its result. */
function CheckLine({ name, ok, detail, note, children }: CheckLineProps) {
  const { t } = useTranslation('operator');
  const [tone, word] =
    ok === null ? (['warning', 'notKnown'] as const) : ok ? (['good', 'good'] as const) : (['bad', 'bad'] as const);
  return (
    <Stack gap="xs">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Text fw={500} size="sm" component="div">
            {name}
          </Text>
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {detail}
          </Text>
        </Stack>
        <Stack gap={4} align="flex-end">
          <StatusBadge tone={tone}>{t(`health.word.${word}`)}</StatusBadge>
          {note !== undefined && (
            <Text size="xs" c="dimmed" className="tabular">
              {note}
            </Text>
          )}
        </Stack>
      </Group>
      {children}
    </Stack>
  );
}

const runDoctor = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/doctor', { signal }));
type Finding = Awaited<ReturnType<typeof runDoctor>>['findings'][number];

/** The doctor's checks of database, disk, clock, secrets and carriers, on the server that handles the request. */
function Doctor() {
  const { t } = useTranslation('operator');
  const query = useQuery({
    queryKey: ['operator', 'health', 'doctor'],
    queryFn: ({ signal }) => runDoctor(signal),
  });
  return (
    <Checks
      label={t('health.tab.doctor')}
      query={query}
      rows={6}
      resultsOf={({ findings }) => findings.map((each) => each.ok)}
    >
      {({ findings }) =>
        findings
          .toSorted((a, b) => rankOf(a) - rankOf(b))
          .map((finding) => <FindingLine key={finding.name} finding={finding} />)
      }
    </Checks>
  );
}

/** What is wrong comes first. */
const rankOf = ({ ok: isGood }: Finding): number => (isGood === false ? 0 : isGood === null ? 1 : 2);

/** Errors of a socket (errno.h), which mean nothing to most people. */
const SOCKET_ERROR = /\b(ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTFOUND|EHOSTUNREACH)\b/;

/** Matches the name of a connection's check: its kind and name. */
const CONNECTION = /^(?:smpp|http|whatsapp|rcs) ([^:]+)$/;

function FindingLine({ finding: { name, ok: isGood, detail, advice } }: { readonly finding: Finding }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const connection = CONNECTION.exec(name)?.[1];
  const title =
    connection === undefined ? serverText(`health.finding.${name}`, name) : <ConnectionLink name={connection} />;
  const todo =
    connection === undefined ? serverText(`health.advice.${name}`, advice ?? '') : t('health.advice.connection');
  const code = SOCKET_ERROR.exec(detail)?.[1];
  return (
    <CheckLine
      name={title}
      ok={isGood}
      detail={code === undefined ? detail : `${t(`health.socket.${code}`)} (${detail})`}
    >
      {!isGood && <Text size="sm">{todo}</Text>}
    </CheckLine>
  );
}

/** Summary of the checks in one sentence. One that took too long does not count as a problem. */
function Summary({ results }: { readonly results: readonly (boolean | null)[] }) {
  const { t } = useTranslation('operator');
  const bad = results.filter((isGood) => isGood === false).length;
  return (
    <Group gap="sm" role="status">
      <StatusBadge tone={bad === 0 ? 'good' : 'bad'}>{t(`health.word.${bad === 0 ? 'good' : 'bad'}`)}</StatusBadge>
      <Text size="sm">
        {bad === 0
          ? t('health.allGood', { count: results.length })
          : t('health.someBad', { count: bad, all: results.length })}
      </Text>
    </Group>
  );
}

const TABS = ['doctor', 'receipts', 'reconciliation'] as const;
const FIELDS = { tab: choice(TABS, 'doctor') };
const PANELS = { reconciliation: Reconciliation, receipts: Receipts, doctor: Doctor };

/** The page of system health: reconciliation, receipts and server. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <PageFrame title={t('health.title')} description={t('health.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`health.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Panel />
      </Tabs>
    </PageFrame>
  );
}
