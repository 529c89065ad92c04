import { Alert, List, SegmentedControl, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Muted, Section } from '../ui/parts.tsx';
import { choice, useUrlState } from '../ui/url-state.ts';
import { Num } from '../ui/values.tsx';
import { type SmallColumn, SmallTable } from '../ui/small-table.tsx';
import { moneyColumn, numberColumn } from '../ui/columns.tsx';
import { Prefix } from './shared.tsx';

const MARGINS = '/api/operator/v1/margins';
const GROUPINGS = ['connection', 'country', 'account'] as const;
type Grouping = (typeof GROUPINGS)[number];
const FIELDS = { by: choice(GROUPINGS, 'connection') };

const listMargins = (by: Grouping, signal: AbortSignal) => ok(api.GET(MARGINS, { params: { query: { by } }, signal }));
type Margins = Awaited<ReturnType<typeof listMargins>>;

/** Revenue and cost of the messages of the last 30 days, and the routes priced below cost. */
export function Margins() {
  const { t } = useTranslation('operator');
  const [{ by }, setSearch] = useUrlState(FIELDS);
  const { data, error } = useQuery({
    queryKey: ['operator', 'margins', by],
    queryFn: ({ signal }) => listMargins(by, signal),
  });
  const choose = (next: string): void => setSearch({ by: GROUPINGS.find((each) => each === next) ?? 'connection' });
  return (
    <Stack gap="lg">
      <UnderCost />
      <Section
        title={t('margin.title')}
        description={t('margin.description')}
        actions={
          <SegmentedControl
            aria-label={t('margin.by')}
            value={by}
            onChange={choose}
            data={GROUPINGS.map((value) => ({ value, label: t(`margin.grouping.${value}`) }))}
          />
        }
      >
        {error && <ErrorState error={error} />}
        {data && <Table by={by} margins={data} />}
      </Section>
      <Billing />
    </Stack>
  );
}

const listBilling = (signal: AbortSignal) => ok(api.GET('/api/operator/v1/billing', { signal }));
type BilledDay = Awaited<ReturnType<typeof listBilling>>['data'][number];

/** What Meta charges for messages, next to what their accounts paid. */
function Billing() {
  const { t } = useTranslation('operator');
  const { data, error } = useQuery({
    queryKey: ['operator', 'billing'],
    queryFn: ({ signal }) => listBilling(signal),
  });
  const count = (id: 'messages' | 'billed' | 'charged' | 'differing'): SmallColumn<BilledDay> => ({
    id,
    header: t(`billing.${id}`),
    align: 'right',
    cell: (row) => <Num value={row[id]} />,
  });
  const columns: readonly SmallColumn<BilledDay>[] = [
    { id: 'day', header: t('billing.day'), cell: ({ day }) => day },
    { id: 'category', header: t('billing.category'), cell: ({ category }) => category },
    count('messages'),
    { ...count('billed'), phone: 'none' },
    { ...count('charged'), phone: 'none' },
    count('differing'),
  ];
  return (
    <Section title={t('billing.title')} description={t('billing.description')}>
      {error && <ErrorState error={error} />}
      {data?.data.length === 0 && <Muted>{t('billing.none')}</Muted>}
      {data && data.data.length > 0 && (
        <SmallTable
          label={t('billing.title')}
          columns={columns}
          rows={data.data}
          rowId={({ day, category }) => `${day} ${category}`}
        />
      )}
    </Section>
  );
}

type Row = Margins['data'][number];

function Table({ by, margins: { total, data } }: { readonly by: Grouping; readonly margins: Margins }) {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  if (data.length === 0) return <Muted>{t('margin.none')}</Muted>;
  const columns: readonly SmallColumn<Row>[] = [
    { id: 'name', header: t(`margin.grouping.${by}`), cell: ({ name }) => <Name by={by} name={name} /> },
    numberColumn('units', t('margin.units')),
    moneyColumn('earned', t('margin.earned'), currency),
    moneyColumn('cost', t('margin.cost'), currency, { phone: 'none' }),
    moneyColumn('margin', t('margin.margin'), currency),
  ];
  return (
    <>
      {total.uncosted > 0 && <Alert color="amber">{t('margin.uncosted', { count: total.uncosted })}</Alert>}
      <SmallTable label={t('margin.title')} columns={columns} rows={data} rowId={({ name }) => name ?? ''} />
    </>
  );
}

function Name({ by, name }: { readonly by: Grouping; readonly name: string | null }) {
  const { t } = useTranslation('operator');
  if (name === null) return t('margin.removed');
  return by === 'country' ? <Prefix prefix={name} /> : name;
}

/** The routes priced below cost, with the numbers of the largest loss; nothing if there are none. */
function UnderCost() {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { data } = useQuery({
    queryKey: ['operator', 'margins', 'under-cost'],
    queryFn: ({ signal }) => ok(api.GET('/api/operator/v1/margins/under-cost', { signal })),
  });
  const numbersOf = (prefix: string): string => (prefix === '' ? t('prefix.all') : `+${prefix}`);
  if (data === undefined || data.data.length === 0) return null;
  return (
    <Alert color="amber" title={t('margin.underCost')}>
      <List size="sm">
        {data.data.map(({ routeId, connection, routePrefix, conditions, prefix, network, price, cost }) => (
          <List.Item key={routeId}>
            {t(network === null ? 'margin.loss' : 'margin.lossInNetwork', {
              route: conditions === null ? numbersOf(routePrefix) : `${numbersOf(routePrefix)} (${conditions})`,
              connection,
              numbers: numbersOf(prefix),
              network,
              price: format.number(price, { maximumFractionDigits: 6 }),
              cost: format.number(cost, { maximumFractionDigits: 6 }),
            })}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
