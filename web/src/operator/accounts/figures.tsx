import { SimpleGrid } from '@mantine/core';
import { CircleCheck, Lock, Send, Wallet } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Money } from '../../ui/values/money.tsx';
import { Num, Percent } from '../../ui/values/num.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import type { AccountDetails } from './account.ts';
import { shareOf } from './columns.tsx';

/** The account's credit, and its traffic in the last 24 hours. */
export function Figures({ account }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { availableCredit, frozenCredit, currency, unlimited, last24h } = account;
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('account.available')}
        value={<Money amount={availableCredit} currency={currency} />}
        note={unlimited ? t('account.paysAfterwards') : t('account.availableNote')}
        icon={Wallet}
      />
      <Stat
        label={t('account.frozen')}
        value={<Money amount={frozenCredit} currency={currency} />}
        note={t('account.frozenNote')}
        icon={Lock}
      />
      <Stat
        label={t('account.sent24h')}
        value={<Num value={last24h.sent} />}
        note={t('account.spent', { amount: format.money(last24h.cost, currency) })}
        icon={Send}
      />
      <Stat
        label={t('account.delivered')}
        value={<Percent share={shareOf(last24h)} />}
        note={t('account.failed', { count: last24h.failed, shown: format.number(last24h.failed) })}
        icon={CircleCheck}
      />
    </SimpleGrid>
  );
}
