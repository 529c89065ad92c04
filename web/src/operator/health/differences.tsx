import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { AccountLink } from '../shared/account-link.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';

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
export function Differences({ rows }: { readonly rows: readonly Row[] }) {
  const { t } = useTranslation('operator');
  const shown = COLUMNS.filter((name) => rows.some((row) => name in row));
  const columns = shown.map((name): PlainColumn<Row> => {
    const isNumber = name !== 'accountId' && rows.some((row) => typeof row[name] === 'number');
    return {
      id: name,
      header: t(`health.difference.${name}`),
      cell: (row) => <Value name={name} value={row[name]} />,
      ...(isNumber && { align: 'right' }),
    };
  });
  return (
    <PlainTable label={t('health.differences')} rows={rows} rowId={(row) => JSON.stringify(row)} columns={columns} />
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
