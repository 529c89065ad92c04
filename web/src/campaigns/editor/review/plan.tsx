import { SimpleGrid, Stack, Text } from '@mantine/core';
import { ArrowDown, ArrowRight, Banknote, ShieldCheck, UserMinus, Users } from 'lucide-react';
import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../../../api/credit.ts';
import { useSession } from '../../../api/session.ts';
import { type Fact, Facts } from '../../../ui/values/facts.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { Money } from '../../../ui/values/money.tsx';
import { Num } from '../../../ui/values/num.tsx';
import { Stat } from '../../../ui/values/stat.tsx';
import { ChannelBadge } from '../../../ui/values/statuses.tsx';
import type { Channel } from '../../campaign.ts';
import type { Draft } from '../draft.ts';
import classes from './plan.module.css';
import type { ChannelPlan, Review } from './use-review.ts';

type PlanProps = {
  readonly review: Review;
  readonly draft: Draft;
  /** Amount already reserved for the campaign. */
  readonly reserved: number;
};

/** Number of people reached and the cost of that, in total and by channel, in the order in which they are tried. */
export function Plan({ review, draft, reserved }: PlanProps) {
  const { t } = useTranslation('campaigns');
  const { channels, currency, total, totalSkipped, expectedPrice, maxPrice } = review;
  return (
    <Stack>
      <SimpleGrid cols={{ base: 2, md: 4 }}>
        <Stat label={t('goal.recipients')} icon={Users} value={<Num value={total} />} />
        <Stat label={t('goal.skipped')} icon={UserMinus} value={<Num value={totalSkipped} />} />
        <Stat
          label={t('plan.expected')}
          icon={Banknote}
          value={<Money amount={expectedPrice} currency={currency} />}
          note={t(channels.some(({ deliveryRate }) => deliveryRate !== null) ? 'plan.byHistory' : 'plan.noHistory')}
        />
        <Stat
          label={t('plan.most')}
          icon={ShieldCheck}
          value={<Money amount={maxPrice} currency={currency} />}
          note={<Credit cost={maxPrice} reserved={reserved} />}
        />
      </SimpleGrid>
      <ol className={classes.chain} aria-label={t('plan.label')}>
        {channels.map((plan, at) => (
          <Fragment key={plan.channel}>
            {at > 0 && <Hop from={channels[at - 1]?.channel ?? plan.channel} draft={draft} />}
            <li className={classes.channel}>
              <ChannelBadge channel={plan.channel} />
              <ChannelFacts plan={plan} isFirst={at === 0} currency={currency} />
            </li>
          </Fragment>
        ))}
      </ol>
      {channels.length > 1 && (
        <Text size="sm" c="dimmed">
          {t('chain.text')}
        </Text>
      )}
    </Stack>
  );
}

type ChannelFactsProps = { readonly plan: ChannelPlan; readonly isFirst: boolean; readonly currency: string };

function ChannelFacts({ plan, isFirst, currency }: ChannelFactsProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { reachable, tried, deliveryRate, expectedPrice, priceOfAll } = plan;
  const facts: Fact[] = [
    { label: t('plan.reachable'), value: <Num value={reachable} /> },
    ...(isFirst ? [] : [{ label: t('plan.tried'), value: <Num value={tried} /> }]),
    {
      label: t('plan.rate'),
      value: deliveryRate === null ? t('plan.unknownRate') : format.percent(deliveryRate),
    },
    { label: t('plan.expected'), value: <Money amount={expectedPrice} currency={currency} /> },
    { label: t('plan.ofAll'), value: <Money amount={priceOfAll} currency={currency} /> },
  ];
  return <Facts facts={facts} />;
}

function Credit({ cost, reserved }: { readonly cost: number | null; readonly reserved: number }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { account } = useSession();
  const { data } = useCredit();
  if (account.plan === 'unlimited') return <>{t('goal.unlimited')}</>;
  if (data === undefined || cost === null) return null;
  const left = data.availableCredit + reserved - cost;
  return <>{t('plan.creditAfter', { amount: format.money(left, data.currency) })}</>;
}

function Hop({ from, draft }: { readonly from: Channel; readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const seconds = from === 'WHATSAPP' ? draft.afterWhatsapp : draft.afterRcs;
  return (
    <li className={classes.hop}>
      <ArrowRight size={20} aria-hidden="true" className={classes.sideways} />
      <ArrowDown size={20} aria-hidden="true" className={classes.down} />
      <Text size="xs">{t('plan.after', { time: format.duration(seconds) })}</Text>
    </li>
  );
}
