import { Button, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { ChevronDown, ChevronRight, RotateCcw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import lists from '../ui/choice-list.module.css';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { adviceOf } from '../ui/advice.ts';
import { ChannelBadge, MessageStatus } from '../ui/values.tsx';
import type { CampaignResults, ResultsQuery } from './answers.tsx';
import { CAMPAIGN, type Campaign, isFinished, NEED } from './campaign.ts';

type Reason = CampaignResults['reasons'][number];

type ReasonsProps = { readonly campaign: Campaign; readonly results: ResultsQuery };

/**
 * Reasons why messages failed, grouped, each with its remedy; and a new campaign for the people who were not reached.
 */
export function Reasons({ campaign, results: { data } }: ReasonsProps) {
  const { t } = useTranslation('campaigns');
  const reasons = data?.reasons ?? [];
  if (reasons.length === 0) return null;
  const groups = [...Map.groupBy(reasons, ({ status, channel }) => `${status} ${channel}`).values()];
  return (
    <Section
      title={t('reasons.title')}
      description={t('reasons.hint')}
      actions={isFinished(campaign) && campaign.totalFailed > 0 && <Again campaign={campaign} />}
    >
      <ul className={`${lists.lists} ${lists.whole}`} aria-label={t('reasons.title')}>
        {groups.map((group) => (
          <ReasonGroup key={`${group[0]?.status} ${group[0]?.channel}`} reasons={group} campaignId={campaign.id} />
        ))}
      </ul>
    </Section>
  );
}

type GroupProps = { readonly reasons: readonly Reason[]; readonly campaignId: number };

function ReasonGroup({ reasons, campaignId }: GroupProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const navigate = useNavigate();
  const [opened, { toggle }] = useDisclosure(false);
  const [first] = reasons;
  if (first === undefined) return null;
  const total = reasons.reduce((sum, { count }) => sum + count, 0);
  const advice = [...new Set(reasons.map(adviceOf))];
  const Sign = opened ? ChevronDown : ChevronRight;
  return (
    <li className={lists.list} style={{ alignItems: 'flex-start', flexWrap: 'wrap' }}>
      <Stack gap={6} style={{ flex: '1 1 16rem', minWidth: 0 }}>
        <Group gap="xs">
          <MessageStatus status={first.status} />
          <ChannelBadge channel={first.channel} />
          <Text size="sm" fw={500} className="tabular">
            {t('reasons.count', { count: total, shown: format.number(total) })}
          </Text>
        </Group>
        {advice.map((each) => (
          <Text key={each} size="sm">
            {t(`advice.${each}`)}
          </Text>
        ))}
        {reasons.some(({ code }) => code !== '') && (
          <div>
            <UnstyledButton onClick={toggle} aria-expanded={opened}>
              <Group gap={4} wrap="nowrap">
                <Sign size={14} aria-hidden="true" />
                <Text size="xs">{t('reasons.codes', { count: reasons.length })}</Text>
              </Group>
            </UnstyledButton>
            <Collapse expanded={opened}>
              {reasons.map(({ code, count }) => (
                <Text key={code} size="xs" c="dimmed" className="tabular">
                  {code || t('reasons.noCode')}: {format.number(count)}
                </Text>
              ))}
            </Collapse>
          </div>
        )}
      </Stack>
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => void navigate({ to: `/campaigns/${campaignId}`, search: { status: first.status } })}
      >
        {t('reasons.people')}
      </Button>
    </li>
  );
}

/** Makes a draft for the people whom the campaign did not reach, and opens it. */
function Again({ campaign: { id, name } }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const again = useAction({
    run: () =>
      ok(
        api.POST(`${CAMPAIGN}/again`, {
          params: { path: { id } },
          body: { name: t('again.name', { name }).slice(0, 200) },
        }),
      ),
    refresh: [['campaigns']],
    done: ({ destinations = [] }) => t('again.done', { count: destinations.length }),
    onDone: (made) => void navigate({ to: '/campaigns/editor', search: { id: made.id } }),
  });
  return (
    <GuardedButton
      need={NEED}
      size="xs"
      variant="default"
      leftSection={<RotateCcw size={14} />}
      loading={again.busy}
      onClick={() => again.run()}
    >
      {t('again.open')}
    </GuardedButton>
  );
}
