import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Duration } from '../../ui/values/date-time.tsx';
import { ButtonLink, TextLink } from '../../ui/link.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { ConnectionState } from '../connections/state.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import type { Overview } from './overview.ts';

type Row = Overview['connections'][number];

/** All connections, one per line. */
export function Connections({ connections }: Pick<Overview, 'connections'>) {
  const { t } = useTranslation('operator');
  const columns = useColumns();
  return (
    <Section
      title={t('connection.title')}
      actions={
        <TextLink to="/operator/connections" aria-label={t('overview.allConnections')}>
          {t('overview.all')}
        </TextLink>
      }
    >
      {connections.length === 0 ? (
        <Group>
          <Text size="sm">{t('connection.none.text')}</Text>
          <ButtonLink to="/operator/connections/new" size="xs">
            {t('connection.add')}
          </ButtonLink>
        </Group>
      ) : (
        <PlainTable label={t('connection.title')} columns={columns} rows={connections} rowId={({ name }) => name} />
      )}
    </Section>
  );
}

function useColumns(): readonly PlainColumn<Row>[] {
  const { t } = useTranslation('operator');
  return [
    { id: 'name', header: t('connection.name'), cell: ({ name }) => <ConnectionLink name={name} /> },
    { id: 'channel', header: t('channel'), wideOnly: true, cell: ({ channel }) => <ChannelBadge channel={channel} /> },
    { id: 'state', header: t('state'), cell: (row) => <ConnectionState connection={row} /> },
    {
      id: 'rate',
      header: t('perSecond'),
      align: 'right',
      cell: ({ perSecond }) => <Num value={perSecond} options={{ maximumFractionDigits: 1 }} />,
    },
    {
      id: 'accepted',
      header: t('connection.accepted1h'),
      align: 'right',
      wideOnly: true,
      cell: ({ lastHour }) => <Num value={lastHour.accepted} />,
    },
    {
      id: 'refused',
      header: t('connection.refused1h'),
      align: 'right',
      wideOnly: true,
      cell: ({ lastHour }) => <Num value={lastHour.refused} />,
    },
    { id: 'queued', header: t('waiting'), align: 'right', cell: ({ queued }) => <Num value={queued} /> },
    {
      id: 'oldest',
      header: t('queue.age'),
      align: 'right',
      wideOnly: true,
      cell: ({ queued, oldestSeconds }) => <Duration seconds={queued === 0 ? null : oldestSeconds} />,
    },
  ];
}
