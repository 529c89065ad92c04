import { Badge, Group } from '@mantine/core';
import { MessageCircle, MessageSquare, MessagesSquare, type LucideIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { StatusBadge, type Tone } from './status-badge.tsx';

/** The tones of the statuses in docs/message-states.md. PENDING and SKIPPED apply to campaign recipients only. */
const MESSAGE: Readonly<Record<string, Tone>> = {
  PENDING: 'progress',
  ACCEPTED: 'progress',
  DELIVERED: 'good',
  READ: 'good',
  UNKNOWN: 'warning',
  SKIPPED: 'neutral',
  DELETED: 'neutral',
  REJECTED: 'bad',
  EXPIRED: 'bad',
  UNDELIVERABLE: 'bad',
  ERROR: 'bad',
  DISABLED: 'bad',
  UNSUPPORTED: 'bad',
  CONVERSATION_CLOSED: 'bad',
};

/** The tones of the five statuses of the specification and of three derived from other fields. */
const CAMPAIGN: Readonly<Record<string, Tone>> = {
  DRAFT: 'neutral',
  READY: 'neutral',
  SCHEDULED: 'progress',
  SENDING: 'progress',
  PAUSED: 'paused',
  COMPLETED: 'good',
  FAILED: 'bad',
  CANCELLED: 'neutral',
};

/** The status of a message, named as in docs/message-states.md. */
export function MessageStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation('ui');
  return (
    <StatusBadge tone={MESSAGE[status] ?? 'neutral'}>
      {t(`messageStatus.${status}`, { defaultValue: status })}
    </StatusBadge>
  );
}

/** The status of a campaign. */
export function CampaignStatus({ status }: { readonly status: string }) {
  const { t } = useTranslation('ui');
  return (
    <StatusBadge tone={CAMPAIGN[status] ?? 'neutral'}>
      {t(`campaignStatus.${status}`, { defaultValue: status })}
    </StatusBadge>
  );
}

const CHANNELS: Readonly<Record<string, readonly [color: string, icon: LucideIcon]>> = {
  SMS: ['blue', MessageSquare],
  WHATSAPP: ['teal', MessageCircle],
  RCS: ['violet', MessagesSquare],
};

/** A channel with icon and name. */
export function ChannelBadge({ channel }: { readonly channel: string }) {
  const { t } = useTranslation('ui');
  const [color, Icon] = CHANNELS[channel] ?? (['gray', MessageSquare] as const);
  return (
    <Badge color={color} leftSection={<Icon size={13} aria-hidden="true" />} style={{ minWidth: 'max-content' }}>
      {t(`channel.${channel}`, { defaultValue: channel })}
    </Badge>
  );
}

/** The channels of a sending mode, in order. */
export const Channels = ({ channels }: { readonly channels: readonly string[] }) => (
  <Group gap={4}>
    {channels.map((channel) => (
      <ChannelBadge key={channel} channel={channel} />
    ))}
  </Group>
);
