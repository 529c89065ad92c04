import { Button, Collapse, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import { ChevronDown, ChevronRight, Download, RotateCcw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import lists from '../ui/choice-list.module.css';
import { openDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Section } from '../ui/parts.tsx';
import { adviceOf } from '../ui/advice.ts';
import { ChannelBadge, MessageStatus } from '../ui/values.tsx';
import type { CampaignResults, ResultsQuery } from './answers.tsx';
import { CAMPAIGN, type Campaign, chainOf, isFinished, NEED } from './campaign.ts';
import { EXPORT_NEED, ExportDialog } from './detail-actions.tsx';

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
      actions={campaign.totalFailed > 0 && <NotReached campaign={campaign} />}
    >
      <ul className={`${lists.lists} ${lists.whole}`} aria-label={t('reasons.title')}>
        {groups.map((group) => (
          <ReasonGroup key={`${group[0]?.status} ${group[0]?.channel}`} reasons={group} campaign={campaign} />
        ))}
      </ul>
    </Section>
  );
}

type GroupProps = { readonly reasons: readonly Reason[]; readonly campaign: Campaign };

function ReasonGroup({ reasons, campaign: { id, sendingMode } }: GroupProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const navigate = useNavigate();
  const [opened, { toggle }] = useDisclosure(false);
  const [first] = reasons;
  if (first === undefined) return null;
  const total = reasons.reduce((sum, { count }) => sum + count, 0);
  const isLast = chainOf(sendingMode).at(-1) === first.channel;
  const advice = new Set(
    reasons.map(adviceOf).map((each) => (each === 'noWhatsapp' && !isLast ? 'noWhatsappNext' : each)),
  );
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
        {[...advice].map((each) => (
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
        onClick={() => void navigate({ to: `/campaigns/${id}`, search: { status: first.status } })}
      >
        {t('reasons.people')}
      </Button>
    </li>
  );
}

/** A file of the people whom the campaign did not reach, and a draft for them, which it opens. */
function NotReached({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const { id, name } = campaign;
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
    <Group gap="xs">
      <GuardedButton
        need={EXPORT_NEED}
        size="xs"
        variant="default"
        leftSection={<Download size={14} />}
        onClick={() => openDialog(<ExportDialog campaign={campaign} who="notReached" />)}
      >
        {t('export.notReached')}
      </GuardedButton>
      {isFinished(campaign) && (
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
      )}
    </Group>
  );
}
