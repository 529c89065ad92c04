import { Group, Paper, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../ui/values/date-time.tsx';
import { useFormat } from '../ui/values/format.ts';
import { ButtonLink, TextLink } from '../ui/link.tsx';
import { JobProgress } from '../ui/values/progress.tsx';
import { Section } from '../ui/section.tsx';
import { CampaignStatus } from '../ui/values/statuses.tsx';
import type { RunningCampaign } from './overview.ts';

/** The campaigns being sent, and the next scheduled ones. */
export function Campaigns({ campaigns }: { readonly campaigns: readonly RunningCampaign[] }) {
  const { t } = useTranslation('overview');
  const all = (
    <ButtonLink to="/campaigns" variant="default" size="xs">
      {t('campaigns.all')}
    </ButtonLink>
  );
  return (
    <Section title={t('campaigns.title')} actions={all}>
      {campaigns.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('campaigns.none')}
        </Text>
      )}
      <Stack gap="sm">
        {campaigns.map((campaign) => (
          <Campaign key={campaign.id} campaign={campaign} />
        ))}
      </Stack>
    </Section>
  );
}

function Campaign({ campaign }: { readonly campaign: RunningCampaign }) {
  const { id, name, status, paused, scheduledAt, failureReason } = campaign;
  return (
    <Paper p="sm">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <TextLink to={`/campaigns/${id}`} fw={600} className="foreign-text">
            {name}
          </TextLink>
          <CampaignStatus status={paused ? 'PAUSED' : status === 1 ? 'SCHEDULED' : 'SENDING'} />
        </Group>
        {status === 1 ? <Begins at={scheduledAt} /> : <Running campaign={campaign} />}
        {failureReason !== null && (
          <Text size="sm" className="foreign-text">
            {failureReason}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Begins({ at }: { readonly at: string | null }) {
  const { t } = useTranslation('overview');
  return (
    <Text size="sm" c="dimmed">
      {t('campaigns.begins')} <DateTime value={at} />
    </Text>
  );
}

function Running({ campaign }: { readonly campaign: RunningCampaign }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { total, progress, ratePerSecond, estimatedSecondsLeft, paused } = campaign;
  const rate = ratePerSecond === null ? '' : t('campaigns.rate', { rate: format.number(Math.round(ratePerSecond)) });
  return (
    <JobProgress
      label={paused ? '' : rate}
      done={Math.round(progress * total)}
      total={total}
      secondsLeft={estimatedSecondsLeft}
      tone={paused ? 'paused' : 'running'}
    />
  );
}
