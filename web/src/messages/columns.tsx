import { Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { confirm } from '../ui/dialog.tsx';
import { TextLink } from '../ui/parts.tsx';
import { ChannelBadge, DateTime, MessageStatus, Money, MsisdnText, Num } from '../ui/values.tsx';
import { cancelMessage, type Message } from './message.ts';

/** The status to show. READ is not stored as a status but derived from `readAt`. */
export const shownStatus = ({ deliveryStatus, readAt }: Pick<Message, 'deliveryStatus' | 'readAt'>): string =>
  readAt === null ? deliveryStatus : 'READ';

export function useMessageColumns(): readonly Column<Message>[] {
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
      { id: 'status', header: t('column.status'), cell: (message) => <MessageStatus status={shownStatus(message)} /> },
      { id: 'channel', header: t('column.channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'text', header: t('column.text'), cell: (message) => <Excerpt message={message} /> },
      { id: 'sender', header: t('column.sender'), hidden: true, cell: ({ sender }) => sender },
      {
        id: 'source',
        header: t('column.source'),
        hidden: true,
        cell: ({ source, simulation }) => t(simulation ? 'simulated' : `source.${source}`),
      },
      {
        id: 'customerMessageId',
        header: t('column.customerMessageId'),
        hidden: true,
        cell: ({ customerMessageId }) => customerMessageId ?? '–',
      },
      {
        id: 'parts',
        header: t('column.parts'),
        align: 'right',
        phone: 'none',
        cell: ({ parts }) => <Num value={parts} />,
      },
      {
        id: 'price',
        header: t('column.price'),
        align: 'right',
        phone: 'none',
        cell: ({ price }) => <Money amount={price} currency={currency} isPrice />,
      },
      { id: 'acceptedAt', header: t('column.acceptedAt'), cell: ({ acceptedAt }) => <DateTime value={acceptedAt} /> },
    ],
    [t, currency],
  );
}

/** The text in one line; of a campaign without a text of its own, a link to the campaign. */
function Excerpt({ message: { text, campaignId } }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  if (text === '' && campaignId !== null)
    return <TextLink to={`/campaigns/${campaignId}`}>{t('one.campaign', { id: campaignId })}</TextLink>;
  return (
    <Text size="sm" truncate maw="clamp(160px, 26vw, 420px)" dir="auto" {...(text === '' && { c: 'dimmed' })}>
      {text === '' ? t('noText') : text.replaceAll(/\s+/g, ' ')}
    </Text>
  );
}

/** Returns the function that cancels a message not yet with a carrier, after a confirmation. */
export function useCancel() {
  const { t } = useTranslation('messages');
  return ({ messageId, destination }: Pick<Message, 'messageId' | 'destination'>): void =>
    confirm({
      title: t('cancel.title', { destination }),
      text: t('cancel.text'),
      action: t('cancel.action'),
      run: () => cancelMessage(messageId),
      refresh: [['message', messageId], ['messages'], ['scheduled'], ['credit']],
      done: t('cancel.done'),
    });
}
