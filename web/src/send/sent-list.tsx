import { Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { TextLink } from '../ui/link.tsx';
import { MessageText } from '../ui/message/message-text.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { ChannelBadge, MessageStatus } from '../ui/values/statuses.tsx';
import { hasFailed, statusQuery } from './message.ts';
import classes from './send.module.css';
import type { Sent } from './use-send.ts';

/** The messages sent from this page, newest first, each polled until it has a final status. */
export function SentList({ sent }: { readonly sent: readonly Sent[] }) {
  const { t } = useTranslation('send');
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (sent.length > 0) list.current?.scrollIntoView({ block: 'nearest' });
  }, [sent.length]);
  return (
    <div role="status" ref={list}>
      {sent.length > 0 && (
        <Paper component="section" p="lg" mb="md">
          <Stack gap="sm">
            <Title order={2} size="h4">
              {t('sent.title')}
            </Title>
            <ul className={classes.sent} aria-label={t('sent.title')}>
              {sent.map((message) => (
                <li key={message.messageId}>
                  <SentMessage message={message} />
                </li>
              ))}
            </ul>
          </Stack>
        </Paper>
      )}
    </div>
  );
}

function SentMessage({ message: { messageId, channel, destination, hasFallback } }: { readonly message: Sent }) {
  const { t } = useTranslation('send');
  const mayFollow = useSession().may({ scope: 'tracking' });
  const { data } = useQuery({ ...statusQuery(messageId), enabled: mayFollow });
  const words = [data?.errorCode, data?.errorMessage].filter((word) => word).join(' · ');
  return (
    <Stack gap={4}>
      <Group justify="space-between" gap="xs">
        <Group gap="xs">
          <ChannelBadge channel={channel} />
          <Text size="sm" fw={600}>
            <MsisdnText number={data?.destination ?? destination} />
          </Text>
        </Group>
        <MessageStatus status={data?.readAt ? 'READ' : (data?.deliveryStatus ?? 'ACCEPTED')} />
      </Group>
      {hasFallback && data && hasFailed(data.deliveryStatus) && <Text size="xs">{t('sent.next')}</Text>}
      {words !== '' && <MessageText text={t('sent.words', { words })} size="xs" />}
      {mayFollow && <TextLink to={`/messages/${messageId}`}>{t('sent.open')}</TextLink>}
    </Stack>
  );
}
