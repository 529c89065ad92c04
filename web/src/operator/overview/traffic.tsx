import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Section } from '../../ui/section.tsx';
import { ActiveSeriesChart } from '../shared/active-series-chart.tsx';
import type { Overview } from './overview.ts';

/** A chart of the messages that carriers accepted or rejected in the last hour, per minute. */
export function Traffic({ series }: Pick<Overview, 'series'>) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const rows = useMemo(
    () => series.map(({ minute, ...values }) => ({ label: format.clock(new Date(minute)), values })),
    [series, format],
  );
  const lines = [
    { name: 'SMS', label: t('ui:channel.SMS'), color: 'blue.5' },
    { name: 'WHATSAPP', label: t('ui:channel.WHATSAPP'), color: 'teal.5' },
    { name: 'RCS', label: t('ui:channel.RCS'), color: 'violet.5' },
    { name: 'refused', label: t('connection.refused'), color: 'red.5' },
  ];
  return (
    <Section title={t('overview.traffic')} description={t('overview.trafficHint')}>
      <ActiveSeriesChart label={t('overview.traffic')} rowLabel={t('minute')} rows={rows} series={lines} height={240} />
    </Section>
  );
}
