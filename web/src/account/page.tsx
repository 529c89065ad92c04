import { SimpleGrid, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { BookUser, Coins, Layers, Receipt, Snowflake } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/data.ts';
import { useSession } from '../api/session.ts';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, PageFrame, Section } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, Money, Num, Stat, StatusBadge, type Tone } from '../ui/values.tsx';
import { type Entry, KINDS, type Kind, listEntries, subscriptionQuery } from './account.tsx';

/** The account page: the plan, the credit and its transactions. */
export function Page() {
  const { t } = useTranslation('account');
  return (
    <PageFrame title={t('part.credit.title')} description={t('part.credit.description')}>
      <Credit />
    </PageFrame>
  );
}

function Credit() {
  const { t } = useTranslation('account');
  const refusal = useSession().refusal({ scope: 'money' });
  if (refusal !== null) return <EmptyState icon={Coins} title={t(`ui:why.${refusal}`)} />;
  return (
    <>
      <Figures />
      <Transactions />
    </>
  );
}

function Figures() {
  const { t } = useTranslation('account');
  const { account } = useSession();
  const format = useFormat();
  const { data: credit, error, refetch } = useCredit();
  const { data: subscription } = useQuery(subscriptionQuery);
  if (credit === undefined && error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  const contacts = subscription?.contacts;
  const channels = format.list(account.channels.map((channel) => t(`ui:channel.${channel}`)));
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('figure.available')}
        icon={Coins}
        value={credit && <Money amount={credit.availableCredit} currency={credit.currency} />}
        note={t('figure.availableNote')}
      />
      <Stat
        label={t('figure.frozen')}
        icon={Snowflake}
        value={credit && <Money amount={credit.frozenCredit} currency={credit.currency} />}
        note={t('figure.frozenNote')}
      />
      <Stat
        label={t('figure.plan')}
        icon={Layers}
        value={t(`app:plan.${account.plan}`)}
        note={channels || t('figure.noChannels')}
      />
      <Stat
        label={t('figure.contacts')}
        icon={BookUser}
        value={contacts && <Num value={contacts.used} />}
        note={
          contacts &&
          (contacts.totalLimit === null
            ? t('figure.noLimit')
            : t('figure.ofLimit', { total: format.number(contacts.totalLimit) }))
        }
      />
    </SimpleGrid>
  );
}

const FIELDS = { ...listFields('', 25), kind: choice(KINDS) };

function Transactions() {
  const { t } = useTranslation('account');
  const { currency } = useSession().account;
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useEntryColumns(currency, search.kind === '');
  const query = useListQuery(['credit', 'entries', search], (signal) => listEntries(search, signal));
  return (
    <Section title={t('entries.title')} description={t('entries.description')}>
      <FilterBar isFiltered={search.kind !== ''} onClear={() => setSearch({ kind: '' })}>
        <ChoiceFilter
          label={t('entries.any')}
          options={KINDS.map((value) => ({ value, label: t(`kind.${value}`) }))}
          value={search.kind}
          onChange={(kind) => setSearch({ kind })}
        />
      </FilterBar>
      <DataTable<Entry>
        id="credit-entries"
        label={t('entries.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={Receipt} title={t('entries.empty')} text={t('entries.emptyText')} />}
      />
    </Section>
  );
}

const TONES: Readonly<Record<Kind, Tone>> = { topup: 'good', freeze: 'paused', settle: 'neutral', return: 'progress' };

/** The columns of the credit transactions. `hasBalance`: a list filtered by kind has no balance column. */
function useEntryColumns(currency: string, hasBalance: boolean): readonly Column<Entry>[] {
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
    <Text span size="sm" fw={500} className="tabular" {...(sign === '' && { c: 'dimmed' })}>
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
