import { Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { TextLink } from '../../ui/link.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { Section } from '../../ui/section.tsx';
import { ChannelBadge } from '../../ui/values/statuses.tsx';
import type { Contact } from '../contact.ts';

const MAX_SHOWN = 10;

const findConversations = async (search: string, signal: AbortSignal) => {
  const path = '/api/partner-gateway/v1/inbox/conversations';
  return ok(api.GET(path, { params: { query: { search, limit: MAX_SHOWN } }, signal }));
};

/** The conversations with the contact, one per channel. */
export function Conversations({ contact: { id, phoneNumber } }: { readonly contact: Contact }) {
  const { t } = useTranslation('contacts');
  const conversations = useQuery({
    queryKey: ['conversations', 'of', phoneNumber],
    queryFn: ({ signal }) => findConversations(phoneNumber ?? '', signal),
    enabled: phoneNumber !== null,
  });
  const own = (conversations.data?.data ?? []).filter(({ contact }) => contact.id === id);
  return (
    <Section title={t('detail.conversations')}>
      {own.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('detail.noConversation')}
        </Text>
      ) : (
        <Stack gap="sm">
          {own.map(({ chatId, channel, lastMessage, lastMessageDate }) => (
            <Stack key={chatId} gap={4}>
              <Group justify="space-between">
                <ChannelBadge channel={channel} />
                <Text size="xs" c="dimmed">
                  <DateTime value={lastMessageDate} />
                </Text>
              </Group>
              <MessageText text={lastMessage.text} lines={1} />
              <TextLink to="/inbox" search={{ chat: chatId }}>
                {t('detail.openConversation')}
              </TextLink>
            </Stack>
          ))}
        </Stack>
      )}
    </Section>
  );
}
