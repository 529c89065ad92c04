import { Button, Group, SimpleGrid } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { CircleX, Coins, MailCheck, Send } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useCredit } from '../api/data.ts';
import { DateField } from '../ui/date-field.tsx';
import { type Format, useFormat } from '../ui/format.ts';
import { ErrorState } from '../ui/parts.tsx';
import { text, useUrlState } from '../ui/url-state.ts';
import { Money, Num, Percent, Stat } from '../ui/values.tsx';
import {
  Change,
  type Days,
  type Period as Figures,
  lastDays,
  monthOf,
  periodQuery,
  rateOf,
  readDays,
  Traffic,
} from './traffic.tsx';

const FIELDS = { from: text(), to: text() };

/** The figures of a period of days, compared with the equally long period before. */
export function Period() {
  const [search, setSearch] = useUrlState(FIELDS);
  const [now] = useState(() => Date.now());
  const days = readDays(search, now);
  const { data, error, refetch } = useQuery({ ...periodQuery(days), placeholderData: keepPreviousData });
  return (
    <>
      <DayFields days={days} now={now} onChange={setSearch} />
      {error && <ErrorState error={error} onRetry={() => void refetch()} />}
      {(data || !error) && <Totals period={data} />}
      {data && <Traffic unit="day" series={data.series.map(({ day, ...point }) => ({ ...point, bucket: day }))} />}
    </>
  );
}

type DayFieldsProps = { readonly days: Days; readonly now: number; readonly onChange: (days: Days) => void };

function DayFields({ days, now, onChange }: DayFieldsProps) {
  const { t } = useTranslation('overview');
  const presets: readonly (readonly [string, Days])[] = [
    ['last30', lastDays(30, now)],
    ['thisMonth', monthOf(now, 0)],
    ['lastMonth', monthOf(now, 1)],
  ];
  return (
    <Group gap="sm" align="flex-end">
      {(['from', 'to'] as const).map((name) => (
        <DateField
          key={name}
          label={t(`period.${name}`)}
          value={days[name]}
          onChange={(value) => value !== '' && onChange({ ...days, [name]: value })}
        />
      ))}
      {presets.map(([name, preset]) => (
        <Button
          key={name}
          variant="default"
          aria-pressed={preset.from === days.from && preset.to === days.to}
          onClick={() => onChange(preset)}
        >
          {t(`period.${name}`)}
        </Button>
      ))}
    </Group>
  );
}

type Sums = Figures['totals'];

function Totals({ period }: { readonly period: Figures | undefined }) {
  const { t } = useTranslation('overview');
  const format = useFormat();
  const { data: credit } = useCredit();
  const now = period?.totals;
  const before = period?.previous.totals;
  const compare = (of: (sums: Sums) => number): ReactNode =>
    now && before && <Change now={of(now)} before={of(before)} />;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing={{ base: 'xs', md: 'md' }}>
      <Stat
        label={t('period.sent')}
        value={now && <Num value={now.sent} />}
        note={compare(({ sent }) => sent)}
        icon={Send}
      />
      <Stat
        label={t('period.delivered')}
        value={now && <Percent share={rateOf(now)} />}
        note={now && before && t('period.before', { value: writeShare(format, rateOf(before)) })}
        icon={MailCheck}
      />
      <Stat
        label={t('period.failed')}
        value={now && <Num value={now.failed} />}
        note={compare(({ failed }) => failed)}
        icon={CircleX}
      />
      {credit && now?.cost !== null && (
        <Stat
          label={t('period.cost')}
          value={now && <Money amount={now.cost} currency={credit.currency} />}
          note={before && t('period.before', { value: format.money(before.cost, credit.currency) })}
          icon={Coins}
        />
      )}
    </SimpleGrid>
  );
}

const writeShare = (format: Format, share: number | null): string => (share === null ? '–' : format.percent(share));
