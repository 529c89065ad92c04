import { Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime, Duration } from '../../ui/values/date-time.tsx';
import { Num } from '../../ui/values/num.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import type { Connection } from './connection.ts';
import { ConnectionState, Links, Rate, WindowUse } from './state.tsx';

export function useConnectionColumns(): readonly Column<Connection>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'name',
        header: t('connection.name'),
        phone: 'title',
        cell: (connection) => <Name connection={connection} />,
      },
      { id: 'state', header: t('state'), cell: (connection) => <Condition connection={connection} /> },
      {
        id: 'links',
        header: t('connection.links'),
        align: 'right',
        cell: (connection) => <Links connection={connection} />,
      },
      {
        id: 'window',
        header: t('connection.window'),
        align: 'right',
        phone: 'none',
        cell: (connection) => <WindowUse connection={connection} />,
      },
      { id: 'rate', header: t('perSecond'), align: 'right', cell: (connection) => <Rate connection={connection} /> },
      {
        id: 'accepted',
        header: t('connection.accepted1h'),
        align: 'right',
        cell: ({ lastHour }) => <Num value={lastHour.accepted} />,
      },
      {
        id: 'refused',
        header: t('connection.refused1h'),
        align: 'right',
        cell: ({ lastHour }) => <Num value={lastHour.refused} />,
      },
      { id: 'queued', header: t('waiting'), align: 'right', cell: (connection) => <Waiting connection={connection} /> },
      {
        id: 'unknowns',
        header: t('connection.unknowns'),
        align: 'right',
        hidden: true,
        cell: ({ unknowns }) => <Num value={unknowns} />,
      },
      {
        id: 'createdAt',
        header: t('connection.createdAt'),
        hidden: true,
        cell: ({ createdAt }) => <DateTime value={createdAt} show="day" />,
      },
    ],
    [t],
  );
}

type Props = { readonly connection: Connection };

function Name({ connection: { name, channel, sandbox } }: Props) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="xs">
      <ConnectionLink name={name} />
      <ChannelBadge channel={channel} />
      {sandbox && (
        <Text size="xs" c="dimmed" fw={400}>
          {t('connection.sandbox')}
        </Text>
      )}
    </Group>
  );
}

/** The state of a connection, with the carrier's error message. */
function Condition({ connection }: Props) {
  const { up, status, fault, lastError } = connection;
  const why = status === 'paused' ? null : (fault ?? (up ? null : lastError));
  return (
    <Stack gap={2} align="flex-start">
      <ConnectionState connection={connection} />
      {why !== null && (
        <Text size="xs" c="dimmed" className="foreign-text" lineClamp={2} maw={280}>
          {why}
        </Text>
      )}
    </Stack>
  );
}

function Waiting({ connection: { queued, oldestSeconds } }: Props) {
  if (queued === 0) return <Num value={0} />;
  return (
    <Stack gap={0}>
      <Num value={queued} />
      {oldestSeconds > 0 && (
        <Text size="xs" c="dimmed">
          <Duration seconds={oldestSeconds} />
        </Text>
      )}
    </Stack>
  );
}
