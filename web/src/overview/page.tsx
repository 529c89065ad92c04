import { SimpleGrid } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Coins, Lock, Wallet } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { creditQuery } from '../api/credit.ts';
import { ErrorState } from '../ui/error-state.tsx';
import { Money } from '../ui/money.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Stat } from '../ui/stat.tsx';

/** How the account is doing. */
export function Page() {
  const { t } = useTranslation('overview');
  const { data, error, refetch } = useQuery(creditQuery);
  const amount = (value: number | undefined) =>
    data && value !== undefined ? <Money amount={value} currency={data.currency} /> : undefined;
  return (
    <Frame title={t('title')}>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <Stat label={t('credit.available')} value={amount(data?.availableCredit)} icon={Wallet} />
        <Stat label={t('credit.frozen')} value={amount(data?.frozenCredit)} note={t('credit.frozenNote')} icon={Lock} />
        <Stat label={t('credit.total')} value={amount(data?.credit)} icon={Coins} />
      </SimpleGrid>
    </Frame>
  );
}
