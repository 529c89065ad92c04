import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { useFormat } from '../ui/values/format.ts';
import { Money } from '../ui/values/money.tsx';
import { Num } from '../ui/values/num.tsx';
import { StatusBadge, type Tone } from '../ui/values/status-badge.tsx';
import type { Entry, Kind } from './account.ts';

const TONES: Readonly<Record<Kind, Tone>> = { topup: 'good', freeze: 'paused', settle: 'neutral', return: 'progress' };

/** The columns of the credit transactions. `hasBalance`: a list filtered by kind has no balance column. */
export function useEntryColumns(currency: string, hasBalance: boolean): readonly Column<Entry>[] {
  const { t } = useTranslation('account');
  return useMemo(() => {
    const balance: Column<Entry> = {
      id: 'balance',
      header: t('column.balance'),
      align: 'right',
      cell: (entry) => (entry.balance === null ? '–' : <Money amount={entry.balance} currency={currency} />),
    };
    return [
      {
        id: 'kind',
        header: t('column.kind'),
        phone: 'title',
        cell: ({ kind }) => <StatusBadge tone={TONES[kind]}>{t(`kind.${kind}`)}</StatusBadge>,
      },
      {
        id: 'amount',
        header: t('column.amount'),
        align: 'right',
        cell: (entry) => <Amount entry={entry} currency={currency} />,
      },
      ...(hasBalance ? [balance] : []),
      {
        id: 'messages',
        header: t('column.messages'),
        align: 'right',
        cell: ({ kind, messages }) => <Num value={kind === 'topup' ? null : messages} />,
      },
      {
        id: 'reference',
        header: t('column.reference'),
        phone: 'none',
        cell: ({ reference }) => <Reference text={reference} />,
      },
      { id: 'at', header: t('column.at'), cell: ({ at }) => <DateTime value={at} show="exact" /> },
    ];
  }, [t, currency, hasBalance]);
}

/** Signed by its effect on the available credit; charging reserved credit does not change it and has no sign. */
function Amount({ entry: { to, from, amount }, currency }: { readonly entry: Entry; readonly currency: string }) {
  const format = useFormat();
  const sign = to === 'available' ? '+' : from === 'available' ? '−' : '';
  return (
    <Text span size="sm" fw={600} className="tabular" {...(sign === '' && { c: 'dimmed' })}>
      {sign}
      {format.money(amount, currency)}
    </Text>
  );
}

const Reference = ({ text }: { readonly text: string }) =>
  text === '' ? (
    '–'
  ) : (
    <Text span size="xs" c="dimmed" className="foreign-text" lineClamp={1} dir="auto">
      {text}
    </Text>
  );
