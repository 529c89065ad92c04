import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { toIso } from '../../api/scheduled-date.ts';
import { useSession } from '../../api/session.ts';
import type { Column } from '../../ui/table/data-table.tsx';
import { TextLink } from '../../ui/link.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Money } from '../../ui/values/money.tsx';
import { MsisdnText } from '../../ui/values/msisdn-text.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import type { Scheduled } from './scheduled.ts';

export function useScheduledColumns(): readonly Column<Scheduled>[] {
  const { t } = useTranslation('messages');
  const { currency } = useSession().account;
  return useMemo(
    () => [
      {
        id: 'destination',
        header: t('column.destination'),
        phone: 'title',
        cell: ({ messageId, destination }) => (
          <TextLink to={`/messages/${messageId}`}>
            <MsisdnText number={destination} />
          </TextLink>
        ),
      },
      {
        id: 'scheduledDate',
        header: t('scheduled.at'),
        cell: ({ scheduledDate }) => (
          <span style={{ whiteSpace: 'nowrap' }}>
            <DateTime value={toIso(scheduledDate)} show="exact" />
          </span>
        ),
      },
      { id: 'channel', header: t('column.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      {
        id: 'text',
        header: t('column.text'),
        cell: ({ text }) => <MessageText text={text === '' ? t('noText') : text} lines={1} />,
      },
      { id: 'sender', header: t('column.sender'), hidden: true, cell: ({ sender }) => sender },
      {
        id: 'customerMessageId',
        header: t('column.customerMessageId'),
        hidden: true,
        cell: ({ customerMessageId }) => customerMessageId ?? '–',
      },
      {
        id: 'price',
        header: t('column.price'),
        align: 'right',
        phone: 'none',
        cell: ({ price }) => <Money amount={price} currency={currency} />,
      },
      {
        id: 'acceptedDate',
        header: t('column.acceptedAt'),
        phone: 'none',
        cell: ({ acceptedDate }) => <DateTime value={acceptedDate} />,
      },
    ],
    [t, currency],
  );
}
