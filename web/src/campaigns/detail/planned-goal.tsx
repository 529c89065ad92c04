import { Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Countdown, DateTime } from '../../ui/values/date-time.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Money } from '../../ui/values/money.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { Stat } from '../../ui/values/stat.tsx';
import { type Campaign, isEditable } from '../campaign.ts';
import { toIso } from '../../api/scheduled-date.ts';
import { SkipReasons } from '../price/skip-reasons.tsx';

/** Before the start: recipients, estimated cost, start time or the next step. */
export function PlannedGoal({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const { id, goalCalculatedAt, totalDestinations, totalSkipped, estimatedCost, currency, scheduledDate } = campaign;
  const isCounted = goalCalculatedAt !== null;
  return (
    <Section title={t('planned.title')}>
      <Stack>
        <SimpleGrid cols={{ base: 2, md: 4 }}>
          <Stat label={t('goal.recipients')} value={<Num value={isCounted ? totalDestinations : null} />} />
          <Stat label={t('goal.skipped')} value={<Num value={isCounted ? totalSkipped : null} />} />
          <Stat
            label={t('goal.price')}
            value={isCounted ? <Money amount={estimatedCost} currency={currency} /> : '–'}
            note={t(isEditable(campaign) ? 'goal.priceNote' : 'planned.frozen')}
          />
          <Stat
            label={t('planned.start')}
            value={
              scheduledDate === null ? t('planned.atOnce') : <DateTime value={toIso(scheduledDate)} show="exact" />
            }
            {...(scheduledDate !== null &&
              !isEditable(campaign) && { note: <Countdown to={toIso(scheduledDate)} ended={t('planned.starting')} /> })}
          />
        </SimpleGrid>
        {isCounted && <SkipReasons skipped={campaign.skipped} />}
        {isEditable(campaign) && (
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {t(isCounted ? 'planned.toConfirm' : 'planned.toCount')}
            </Text>
            <ButtonLink to="/campaigns/editor" search={{ id, step: 'review' }}>
              {t('planned.review')}
            </ButtonLink>
          </Group>
        )}
      </Stack>
    </Section>
  );
}
