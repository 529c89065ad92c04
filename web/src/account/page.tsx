import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { BookUser, Coins, Layers, Receipt, Snowflake } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/credit.ts';
import { useSession } from '../api/session.ts';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { ChoiceFilter, FilterBar } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/values/format.ts';
import { Money } from '../ui/values/money.tsx';
import { Num } from '../ui/values/num.tsx';
import { Section } from '../ui/section.tsx';
import { Stat } from '../ui/values/stat.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { AccountFrame } from './account-frame.tsx';
import { type Entry, KINDS, listEntries, subscriptionQuery } from './account.ts';
import { useEntryColumns } from './entry-columns.tsx';

/** The account page: the plan, the credit and its transactions. */
export function Page() {
  return (
    <AccountFrame part="credit">
      <Credit />
    </AccountFrame>
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
