import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { Column } from '../ui/data-table.tsx';
import { confirm } from '../ui/dialog.tsx';
import { TextLink } from '../ui/parts.tsx';
import { ChannelBadge, DateTime, MessageStatus, MsisdnText } from '../ui/values.tsx';
import { moneyColumn, numberColumn } from '../ui/columns.tsx';
import { campaignNameQuery, cancelMessage, type Message } from './message.ts';

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
      numberColumn('parts', t('column.parts'), { phone: 'none' }),
      moneyColumn('price', t('column.price'), currency, { phone: 'none', isPrice: true }),
      { id: 'acceptedAt', header: t('column.acceptedAt'), cell: ({ acceptedAt }) => <DateTime value={acceptedAt} /> },
    ],
    [t, currency],
  );
}

/** The text in one line; of a campaign without a text of its own, a link to the campaign. */
function Excerpt({ message: { text, campaignId } }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  if (text === '' && campaignId !== null) return <CampaignLink id={campaignId} />;
  return (
    <Text size="sm" truncate maw="clamp(120px, 30vw, 560px)" dir="auto" {...(text === '' && { c: 'dimmed' })}>
      {text === '' ? t('noText') : text.replaceAll(/\s+/g, ' ')}
    </Text>
  );
}

/** A link to a campaign by its name; by its ID for users who may not see campaigns, and once it has been deleted. */
export function CampaignLink({ id }: { readonly id: number }) {
  const { t } = useTranslation('messages');
  const may = useSession().may({ scope: 'campaigns' });
  const { data: name = t('one.campaign', { id }) } = useQuery({ ...campaignNameQuery(id), enabled: may });
  return (
    <TextLink to={`/campaigns/${id}`}>
      <bdi>{name}</bdi>
    </TextLink>
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
