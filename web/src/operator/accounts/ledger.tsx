import { Text } from '@mantine/core';
import { ReceiptText } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter } from '../../ui/filter-bar.tsx';
import { Money } from '../../ui/values/money.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { choice, listFields, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { type AccountDetails, LEDGER_KINDS, type LedgerEntry, listLedger } from './account.ts';

const FIELDS = { ...listFields('', 10), kind: choice(LEDGER_KINDS) };

/** The ledger of the account, newest entries first. */
export function Ledger({ account: { id, currency, ledgerAgrees } }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useLedgerColumns(currency);
  const { page, limit, kind } = search;
  const query = useListQuery(['operator', 'accounts', 'ledger', id, search], (signal) =>
    listLedger(id, { page, limit, ...(kind && { kind }) }, signal),
  );
  return (
    <Section
      title={t('ledger.title')}
      description={t('ledger.description')}
      actions={
        <StatusBadge tone={ledgerAgrees ? 'good' : 'bad'}>
          {t(ledgerAgrees ? 'ledger.agrees' : 'ledger.differs')}
        </StatusBadge>
      }
    >
      <DataTable<LedgerEntry>
        id="operator-ledger"
        label={t('ledger.title')}
        columns={columns}
        query={query}
        rowId={(entry) => `${entry.id}${entry.from}${entry.to}`}
        search={search}
        onSearch={setSearch}
        toolbar={
          <ChoiceFilter
            label={t('ledger.anyKind')}
            options={LEDGER_KINDS.map((value) => ({ value, label: t(`ledger.kind.${value}`) }))}
            value={kind}
            onChange={(next) => setSearch({ kind: next })}
          />
        }
        empty={<EmptyState icon={ReceiptText} title={t('ledger.none.title')} text={t('ledger.none.text')} />}
      />
    </Section>
  );
}

function useLedgerColumns(currency: string): readonly Column<LedgerEntry>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'at', header: t('ledger.at'), cell: ({ at }) => <DateTime value={at} show="exact" /> },
      { id: 'kind', header: t('ledger.what'), phone: 'title', cell: ({ kind }) => t(`ledger.kind.${kind}`) },
      { id: 'books', header: t('ledger.books'), phone: 'none', cell: ({ from, to }) => <Books from={from} to={to} /> },
      {
        id: 'messages',
        header: t('messages'),
        align: 'right',
        cell: ({ messages }) => <Num value={messages === 0 ? null : messages} />,
      },
      {
        id: 'amount',
        header: t('ledger.amount'),
        align: 'right',
        cell: ({ amount }) => <Money amount={amount} currency={currency} />,
      },
      {
        id: 'reference',
        header: t('ledger.reference'),
        phone: 'none',
        cell: ({ reference }) => <bdi>{reference || '–'}</bdi>,
      },
    ],
    [t, currency],
  );
}

function Books({ from, to }: Pick<LedgerEntry, 'from' | 'to'>) {
  const { t } = useTranslation('operator');
  return (
    <Text span size="sm" c="dimmed">
      {t(`ledger.book.${from}`)} → {t(`ledger.book.${to}`)}
    </Text>
  );
}
