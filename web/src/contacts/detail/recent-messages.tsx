import { Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { TextLink } from '../../ui/link.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge, MessageStatus } from '../../ui/values/statuses.tsx';
import type { Contact } from '../contact.ts';

const MAX_SHOWN = 5;
const DAYS = 30;

const listMessages = (destination: string, signal: AbortSignal) => {
  const from = new Date(Date.now() - DAYS * 86_400_000).toISOString();
  const query = { destination, from, limit: MAX_SHOWN };
  return ok(api.GET('/api/partner-gateway/v1/messages', { params: { query }, signal }));
};

/** The last messages to the number. */
export function RecentMessages({ contact: { phoneNumber } }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const messages = useQuery({
    queryKey: ['messages', 'to', phoneNumber],
    queryFn: ({ signal }) => listMessages(phoneNumber ?? '', signal),
    enabled: phoneNumber !== null,
  });
  const rows = messages.data?.data ?? [];
  return (
    <Section
      title={t('detail.messages')}
      actions={
        rows.length > 0 && (
          <TextLink to="/messages" search={{ q: phoneNumber ?? '', days: DAYS }}>
            {t('detail.allMessages')}
          </TextLink>
        )
      }
    >
      {messages.error !== null && <ErrorState error={messages.error} onRetry={() => void messages.refetch()} />}
      {messages.isLoading && <Skeleton h={48} />}
      {(phoneNumber === null || messages.data) && rows.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('detail.noMessages', { count: DAYS })}
        </Text>
      )}
      <Stack gap="sm">
        {rows.map(({ messageId, channel, text, deliveryStatus, acceptedAt }) => (
          <Group key={messageId} justify="space-between" wrap="nowrap" align="flex-start" gap="md">
            <Stack gap={4} style={{ minWidth: 0 }}>
              <MessageText text={text ?? ''} lines={2} />
              <Text size="xs" c="dimmed">
                <DateTime value={acceptedAt} />
              </Text>
            </Stack>
            <Group gap={6} justify="flex-end">
              <ChannelBadge channel={channel} />
              <MessageStatus status={deliveryStatus} />
            </Group>
          </Group>
        ))}
      </Stack>
    </Section>
  );
}
