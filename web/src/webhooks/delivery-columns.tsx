import { Anchor, Code, Group, Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { type Delivery, type State, statusNameOf, TONES } from './delivery.ts';
import { Milliseconds } from './test-dialog.tsx';

/** The columns of the event log; `onOpen` shows one event in full. */
export function useDeliveryColumns(onOpen: (id: string) => void): readonly Column<Delivery>[] {
  const { t } = useTranslation('webhooks');
  return useMemo(
    () => [
      {
        id: 'event',
        header: t('column.event'),
        phone: 'title',
        cell: (delivery) => <EventName delivery={delivery} onOpen={onOpen} />,
      },
      { id: 'status', header: t('column.status'), cell: (delivery) => <Outcome delivery={delivery} /> },
      {
        id: 'responseCode',
        header: t('column.answer'),
        phone: 'none',
        align: 'right',
        cell: ({ responseCode }) => <span className="tabular">{responseCode ?? '–'}</span>,
      },
      {
        id: 'durationMs',
        header: t('column.duration'),
        phone: 'none',
        align: 'right',
        cell: ({ durationMs }) => <Milliseconds value={durationMs} />,
      },
      {
        id: 'attempts',
        header: t('column.attempts'),
        phone: 'none',
        align: 'right',
        cell: ({ attempts }) => <span className="tabular">{attempts}</span>,
      },
      {
        id: 'messageId',
        header: t('column.message'),
        hidden: true,
        cell: ({ messageId }) => <Code>{messageId}</Code>,
      },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t, onOpen],
  );
}

type EventNameProps = { readonly delivery: Delivery; readonly onOpen: (id: string) => void };

function EventName({ delivery: { id, ...event }, onOpen }: EventNameProps) {
  const eventName = useEventName();
  return (
    <Stack gap={0}>
      <Anchor component="button" type="button" size="sm" fw={600} ta="left" onClick={() => onOpen(id)}>
        {eventName(event)}
      </Anchor>
      <Text size="xs" c="dimmed" ff="monospace" fw={400}>
        {id.slice(0, 8)}…{id.slice(-4)}
      </Text>
    </Stack>
  );
}

/** Returns a function that names an event: the status of a delivery event, otherwise its kind. */
export function useEventName(): (event: Pick<Delivery, 'eventType' | 'statusCode'>) => string {
  const { t } = useTranslation('webhooks');
  return ({ eventType, statusCode }) => {
    const status = statusNameOf(statusCode);
    return status === null ? t(`kind.${eventType}`) : t(`ui:messageStatus.${status}`);
  };
}

/** The state of an event, and its next attempt. */
function Outcome({ delivery: { status, nextAttemptAt, failure } }: { readonly delivery: Delivery }) {
  const { t } = useTranslation('webhooks');
  return (
    <Stack gap={2} align={useIsPhone() ? 'flex-end' : 'flex-start'}>
      <DeliveryState state={status} />
      {status === 'PENDING' && nextAttemptAt !== null && (
        <Group gap={4}>
          <Text size="xs" c="dimmed">
            {t('column.next')} <DateTime value={nextAttemptAt} />
          </Text>
        </Group>
      )}
      {status === 'PENDING' && nextAttemptAt === null && (
        <Text size="xs" c="dimmed">
          {t('column.behind')}
        </Text>
      )}
      {status === 'DEAD' && failure !== null && (
        <Text size="xs" c="dimmed" className="foreign-text" lineClamp={1}>
          {failure}
        </Text>
      )}
    </Stack>
  );
}

export function DeliveryState({ state }: { readonly state: State }) {
  const { t } = useTranslation('webhooks');
  return <StatusBadge tone={TONES[state]}>{t(`deliveryState.${state}`)}</StatusBadge>;
}
