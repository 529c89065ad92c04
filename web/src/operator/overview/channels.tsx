import { useTranslation } from 'react-i18next';
import { Num, Percent } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { shareOf } from '../accounts/columns.tsx';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import type { Overview } from './overview.ts';

type Row = Overview['channels'][number];

/** The results of the last day by channel. */
export function ChannelFigures({ channels }: Pick<Overview, 'channels'>) {
  const { t } = useTranslation('operator');
  const columns: readonly PlainColumn<Row>[] = [
    { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
    { id: 'sent', header: t('overview.sent'), align: 'right', cell: ({ sent }) => <Num value={sent} /> },
    {
      id: 'delivered',
      header: t('overview.delivered'),
      align: 'right',
      cell: (row) => <Percent share={shareOf(row)} />,
    },
    {
      id: 'read',
      header: t('overview.read'),
      align: 'right',
      wideOnly: true,
      cell: ({ read }) => <Num value={read} />,
    },
    { id: 'failed', header: t('overview.failed'), align: 'right', cell: ({ failed }) => <Num value={failed} /> },
  ];
  return (
    <Section title={t('overview.channels')}>
      <PlainTable label={t('overview.channels')} columns={columns} rows={channels} rowId={({ channel }) => channel} />
    </Section>
  );
}
