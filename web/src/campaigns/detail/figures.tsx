import { SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Money } from '../../ui/values/money.tsx';
import { Num } from '../../ui/values/num.tsx';
import { JobProgress } from '../../ui/values/progress.tsx';
import { Section } from '../../ui/section.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { type Campaign, isFinished, isSending, toneOf } from '../campaign.ts';
import { SkipReasons } from '../price/skip-reasons.tsx';

/** Progress, speed, results and cost of a campaign. */
export function Figures({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { totalSuccess, totalFailed, totalPending, totalSkipped, estimatedCost, actualCost, currency } = campaign;
  const { totalDeliveredTwice, totalCancelled } = campaign;
  const done = totalSuccess + totalFailed + totalCancelled;
  const total = done + totalPending;
  const share = (count: number): string => (total === 0 ? '' : format.share(count, total));
  return (
    <Section title={t('figures.title')} actions={isSending(campaign) && <Rate campaign={campaign} />}>
      <Stack>
        {total > 0 && (
          <JobProgress
            label={t('figures.progress')}
            done={done}
            total={total}
            secondsLeft={campaign.estimatedSecondsLeft}
            tone={toneOf(campaign)}
          />
        )}
        <SimpleGrid cols={{ base: 2, md: campaign.cancelled ? 6 : 5 }}>
          <Stat label={t('figures.delivered')} value={<Num value={totalSuccess} />} note={share(totalSuccess)} />
          <Stat label={t('figures.failed')} value={<Num value={totalFailed} />} note={share(totalFailed)} />
          <Stat label={t('figures.pending')} value={<Num value={totalPending} />} note={share(totalPending)} />
          {campaign.cancelled && (
            <Stat
              label={t('figures.cancelled')}
              value={<Num value={totalCancelled} />}
              note={t('figures.cancelledNote')}
            />
          )}
          <Stat label={t('figures.skipped')} value={<Num value={totalSkipped} />} note={t('figures.skippedNote')} />
          <Stat
            label={t('figures.cost')}
            value={<Money amount={actualCost} currency={currency} />}
            note={t('figures.estimated', { cost: format.money(estimatedCost, currency) })}
          />
        </SimpleGrid>
        <CostNote campaign={campaign} />
        {totalDeliveredTwice > 0 && (
          <Text size="sm" c="dimmed">
            {t('figures.deliveredTwice', {
              count: totalDeliveredTwice,
              shown: format.number(totalDeliveredTwice),
            })}
          </Text>
        )}
        <SkipReasons skipped={campaign.skipped} />
      </Stack>
    </Section>
  );
}

/** Cost of the campaign compared with its estimate, and of each delivery, once it has ended. */
function CostNote({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { actualCost, estimatedCost, totalSuccess, currency } = campaign;
  if (!isFinished(campaign) || actualCost === null || estimatedCost === null || estimatedCost === 0) return null;
  const perDelivery = totalSuccess === 0 ? null : format.money(actualCost / totalSuccess, currency);
  return (
    <Text size="sm" c="dimmed">
      {t('figures.costOf', { share: format.percent(actualCost / estimatedCost, 0) })}
      {perDelivery !== null && ` ${t('figures.perDelivery', { cost: perDelivery })}`}
    </Text>
  );
}

function Rate({ campaign: { ratePerSecond, paused, cancelled } }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  if (paused || cancelled || ratePerSecond === null) return null;
  return (
    <Text size="sm" c="dimmed" className="tabular">
      {t('figures.rate', { rate: format.number(ratePerSecond, { maximumFractionDigits: 1 }) })}
    </Text>
  );
}
