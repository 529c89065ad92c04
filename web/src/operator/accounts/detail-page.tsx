import { SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { Access } from './access.tsx';
import { type AccountDetails, accountQuery } from './account.ts';
import { Figures } from './figures.tsx';
import { Ledger } from './ledger.tsx';
import { SwitchAccountButton } from './switch-account.tsx';
import { AccountStatus } from './status.tsx';
import { StatusButton } from './status-button.tsx';
import { TopUpButton } from './top-up.tsx';
import { Webhook } from './webhook.tsx';

const SettingsForm = lazyPart(() => import('./settings-form.tsx').then((file) => ({ default: file.SettingsForm })));

/** The page of one account. */
export function Page() {
  const { t } = useTranslation('operator');
  const { id = '' }: { readonly id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(accountQuery(Number(id)));
  const trail = [{ label: t('account.title'), to: '/operator/accounts' }];
  if (data) return <Detail account={data} trail={trail} />;
  return (
    <Frame title={t('account.numbered', { id })} trail={trail}>
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />}
    </Frame>
  );
}

type DetailProps = { readonly account: AccountDetails; readonly trail: readonly { label: string; to: string }[] };

function Detail({ account, trail }: DetailProps) {
  const { t } = useTranslation('operator');
  return (
    <Frame
      title={account.name}
      badge={<AccountStatus status={account.status} />}
      description={t('account.about', { id: account.id, plan: t(`app:plan.${account.plan}`) })}
      trail={trail}
      actions={
        <>
          <StatusButton account={account} />
          <TopUpButton account={account} />
          <SwitchAccountButton account={account} />
        </>
      }
    >
      <Figures account={account} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Suspense fallback={<TableSkeleton rows={8} />}>
          <SettingsForm account={account} />
        </Suspense>
        <Stack gap="lg">
          <Access account={account} />
          <Webhook account={account} />
        </Stack>
      </SimpleGrid>
      <Ledger account={account} />
    </Frame>
  );
}
