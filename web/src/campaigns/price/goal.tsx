import { Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { Banknote, UserMinus, Users, Wallet } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../../api/credit.ts';
import { useSession } from '../../api/session.ts';
import { useFormat } from '../../ui/values/format.ts';
import { Money } from '../../ui/values/money.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { Breakdown } from './breakdown.tsx';
import type { Campaign } from '../campaign.ts';
import type { PricedCampaign } from './price.ts';

/** The result of the calculation: recipients, skipped numbers with reasons, and the price with its breakdown. */
export function Goal({ counted: { campaign, price } }: { readonly counted: PricedCampaign }) {
  const { t } = useTranslation('campaigns');
  const { totalDestinations, totalSkipped, estimatedCost, currency } = campaign;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Stat label={t('goal.recipients')} icon={Users} value={<Num value={totalDestinations} />} />
        <Stat label={t('goal.skipped')} icon={UserMinus} value={<Num value={totalSkipped} />} />
        <Stat
          label={t('goal.price')}
          icon={Banknote}
          value={<Money amount={estimatedCost} currency={currency} />}
          note={t('goal.priceNote')}
        />
        {estimatedCost !== null && <CreditAfter cost={estimatedCost} />}
      </SimpleGrid>
      <SkipReasons skipped={campaign.skipped} />
      {price.breakdown.length > 0 && <Breakdown price={price} />}
    </Stack>
  );
}

function CreditAfter({ cost }: { readonly cost: number }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { account } = useSession();
  const { data } = useCredit();
  if (account.plan === 'unlimited')
    return <Stat label={t('goal.creditAfter')} icon={Wallet} value="∞" note={t('goal.unlimited')} />;
  const now = data && t('goal.creditNow', { amount: format.money(data.availableCredit, data.currency) });
  return (
    <Stat
      label={t('goal.creditAfter')}
      icon={Wallet}
      value={data && <Money amount={data.availableCredit - cost} currency={data.currency} />}
      note={now}
    />
  );
}

const REASONS = ['invalid', 'unsupported', 'optedOut', 'text', 'noRoute', 'noPrice', 'duplicate'] as const;

/** The reasons for skipped recipients, with counts; reasons without recipients are left out. */
export function SkipReasons({ skipped }: Pick<Campaign, 'skipped'>) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const found = REASONS.filter((reason) => (skipped?.[reason] ?? 0) > 0);
  if (found.length === 0) return null;
  return (
    <Group gap="xs">
      <Text size="sm" c="dimmed">
        {t('goal.why')}
      </Text>
      {found.map((reason) => (
        <StatusBadge key={reason} tone={reason === 'duplicate' ? 'neutral' : 'warning'}>
          {t(`skipped.${reason}`, { count: skipped?.[reason], shown: format.number(skipped?.[reason] ?? 0) })}
        </StatusBadge>
      ))}
    </Group>
  );
}
