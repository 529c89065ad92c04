import { Text } from '@mantine/core';
import { ArrowDown } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { type Campaign, chainOf } from '../campaign.ts';
import classes from './funnel.module.css';
import { type CampaignFunnel, useFunnel } from './results/use-results.ts';

type FunnelStep = CampaignFunnel['steps'][number];

const POLL_MS = 2000;

/** The results by channel: the number of recipients reached on each, and of those who moved on to the next. */
export function Funnel({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = useFunnel(campaign, POLL_MS);
  const isCombined = chainOf(campaign.sendingMode).length > 1;
  return (
    <Section
      title={t(isCombined ? 'funnel.title' : 'funnel.single')}
      {...(isCombined && { description: t('funnel.hint') })}
    >
      {data !== undefined ? (
        <ol className={classes.funnel}>
          {data.steps.map((step, at) => (
            <Step key={step.step} step={step} recipients={data.recipients} isLast={at === data.steps.length - 1} />
          ))}
        </ol>
      ) : error === null ? (
        <TableSkeleton rows={2} />
      ) : (
        <ErrorState error={error} onRetry={() => void refetch()} />
      )}
    </Section>
  );
}

type StepProps = { readonly step: FunnelStep; readonly recipients: number; readonly isLast: boolean };

function Step({ step, recipients, isLast }: StepProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { channel, attempted, delivered, read, failed, pending, fellBack, notTried } = step;
  const words = (['delivered', 'failed', 'pending'] as const).map((part) => ({
    part,
    count: { delivered, failed, pending }[part],
  }));
  return (
    <li className={classes.step}>
      <div className={classes.head}>
        <ChannelBadge channel={channel} />
        <Text size="sm" className="tabular">
          {t('funnel.attempted', { count: attempted, shown: format.number(attempted) })}
        </Text>
      </div>
      <Bar
        parts={words}
        total={Math.max(recipients, 1)}
        label={t('funnel.bar', { channel: t(`ui:channel.${channel}`) })}
      />
      <dl className={classes.parts}>
        {words.map(({ part, count }) => (
          <div key={part} data-part={part}>
            <dt>{t(part === 'pending' ? 'funnel.pending' : `figures.${part}`)}</dt>
            <dd>{format.number(count)}</dd>
          </div>
        ))}
        {channel !== 'SMS' && (
          <div>
            <dt>{t('figures.read')}</dt>
            <dd>{format.number(read)}</dd>
          </div>
        )}
      </dl>
      {!isLast && (
        <Text size="sm" c="dimmed" className={classes.on}>
          <ArrowDown size={16} aria-hidden="true" />
          {t('funnel.fellBack', { count: fellBack, shown: format.number(fellBack) })}
        </Text>
      )}
      {notTried > 0 && (
        <Text size="sm" c="dimmed">
          {t('funnel.notTried', { count: notTried, shown: format.number(notTried) })}
        </Text>
      )}
    </li>
  );
}

type BarProps = {
  readonly parts: readonly { readonly part: string; readonly count: number }[];
  readonly total: number;
  readonly label: string;
};

/** A bar as wide as the share of all recipients who were tried on this channel. The figures are below it as text. */
const Bar = ({ parts, total, label }: BarProps) => (
  <div className={classes.bar} role="img" aria-label={label}>
    {parts.map(({ part, count }) => (
      <span key={part} data-part={part} style={{ width: `${Math.min(100, (count / total) * 100)}%` }} />
    ))}
  </div>
);
