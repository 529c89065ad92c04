import { Group, SimpleGrid, Stack } from '@mantine/core';
import { Gauge } from 'lucide-react';
import { Chart } from '../ui/chart/chart.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { Section } from '../ui/section.tsx';
import { Countdown, DateTime, Duration } from '../ui/values/date-time.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { Money } from '../ui/values/money.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { Bytes, Num, Percent } from '../ui/values/num.tsx';
import { JobProgress } from '../ui/values/progress.tsx';
import { Stat } from '../ui/values/stat.tsx';
import { StatusBadge, type Tone } from '../ui/values/status-badge.tsx';
import { CampaignStatus, ChannelBadge, Channels, MessageStatus } from '../ui/values/statuses.tsx';

const TONES: readonly Tone[] = ['good', 'bad', 'warning', 'progress', 'paused', 'neutral'];
const AN_HOUR_AGO = new Date(Date.now() - 3_600_000).toISOString();
const SOON = new Date(Date.now() + 90_000).toISOString();

/** Figures, times, statuses, progress and charts. */
export function Values() {
  return (
    <>
      <Section title="Values" description="A missing value is a dash.">
        <Facts
          facts={[
            { label: 'Num', value: <Num value={1_234_567} /> },
            { label: 'Num, missing', value: <Num value={null} /> },
            { label: 'Percent', value: <Percent share={0.973} /> },
            { label: 'Bytes', value: <Bytes count={5_300_000} /> },
            { label: 'Money', value: <Money amount={12.5} currency="EUR" /> },
            { label: 'MsisdnText', value: <MsisdnText number="+393331234567" /> },
            { label: 'DateTime', value: <DateTime value={AN_HOUR_AGO} /> },
            { label: 'DateTime, exact', value: <DateTime value={AN_HOUR_AGO} show="exact" /> },
            { label: 'Duration', value: <Duration seconds={4000} /> },
            { label: 'Countdown', value: <Countdown to={SOON} ended="ended" /> },
          ]}
        />
      </Section>
      <Section title="Statuses">
        <Stack>
          <Group>
            {TONES.map((tone) => (
              <StatusBadge key={tone} tone={tone}>
                {tone}
              </StatusBadge>
            ))}
          </Group>
          <Group>
            {['PENDING', 'ACCEPTED', 'DELIVERED', 'REJECTED', 'EXPIRED', 'UNKNOWN'].map((status) => (
              <MessageStatus key={status} status={status} />
            ))}
            <CampaignStatus status="SENDING" />
            <ChannelBadge channel="SMS" />
            <Channels channels={['WHATSAPP', 'RCS', 'SMS']} />
          </Group>
        </Stack>
      </Section>
      <Section title="Figures and progress">
        <Stack>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <Stat label="Delivered" value={<Num value={1234} />} note="97 % of all" icon={Gauge} />
            <Stat label="Failed" value={<Num value={21} />} />
          </SimpleGrid>
          {(['running', 'done', 'failed', 'paused'] as const).map((tone) => (
            <JobProgress key={tone} label={tone} done={tone === 'done' ? 100 : 40} total={100} tone={tone} />
          ))}
          <JobProgress label="Unknown total" done={40} total={null} />
        </Stack>
      </Section>
      <Charts />
      <Section title="JsonView">
        <JsonView label="Body" value={{ id: 1, destinations: ['+393331234567'] }} />
      </Section>
    </>
  );
}

const SERIES = [
  { name: 'delivered', label: 'Delivered', color: 'green.6' },
  { name: 'failed', label: 'Failed', color: 'red.6' },
];
const ROWS = [4, 9, 7, 12, 10].map((delivered, hour) => ({
  label: `${hour}:00`,
  values: { delivered, failed: hour % 3 },
}));

const Charts = () => (
  <Section title="Charts">
    <SimpleGrid cols={{ base: 1, sm: 3 }}>
      {(['area', 'bars', 'stacked'] as const).map((kind) => (
        <Chart key={kind} label={kind} rowLabel="Hour" rows={ROWS} series={SERIES} kind={kind} height={180} />
      ))}
    </SimpleGrid>
  </Section>
);
