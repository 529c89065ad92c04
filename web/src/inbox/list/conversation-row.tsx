import { Badge, Group, Text, VisuallyHidden } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { AlarmClock, Ban, MessageCircle, MessageSquare, MessagesSquare, UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import type { Conversation, Search } from '../conversation.ts';
import { LabelBadge } from '../desk/label-badge.tsx';
import classes from '../inbox.module.css';
import { ShortTime } from './short-time.tsx';
import { ROW } from '../use-keys.ts';

const SIGNS = { SMS: MessageSquare, WHATSAPP: MessageCircle, RCS: MessagesSquare } as const;

type ConversationRowProps = { readonly conversation: Conversation; readonly search: Search };

/** One conversation in the list: person, time, last message and unread count. */
export function ConversationRow({ conversation, search }: ConversationRowProps) {
  const { t } = useTranslation('inbox');
  const { brief } = useFormat();
  const { chatId, channel, contact, unreadCount, lastMessageDate, assignee, labels, snoozedUntil } = conversation;
  const Sign = SIGNS[channel];
  return (
    <Link
      to="."
      search={() => ({ ...search, chat: chatId })}
      preload={false}
      className={classes.row}
      aria-current={search.chat === chatId}
      {...{ [ROW]: chatId }}
    >
      <span className={classes.sign} data-channel={channel}>
        <Sign size={18} role="img" aria-label={t(`ui:channel.${channel}`)} />
      </span>
      <div className={classes.rowText}>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Text size="sm" fw={unreadCount > 0 ? 700 : 550} truncate dir="auto">
            {contact.name}
          </Text>
          <ShortTime value={lastMessageDate} />
        </Group>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <LastMessage conversation={conversation} />
          {unreadCount > 0 && (
            <Badge size="sm" variant="filled" circle={unreadCount < 10} style={{ flexShrink: 0 }}>
              <span aria-hidden="true">{unreadCount}</span>
              <VisuallyHidden>{t('unreadHere', { count: unreadCount })}</VisuallyHidden>
            </Badge>
          )}
        </Group>
        {labels.length > 0 && (
          <Group gap={4} mt={4}>
            {labels.map((label) => (
              <LabelBadge key={label.id} label={label} />
            ))}
          </Group>
        )}
        {(assignee !== null || contact.optedOut || snoozedUntil !== null) && (
          <Group gap="sm" mt={2}>
            {assignee !== null && (
              <Text size="xs" c="dimmed" className={classes.note}>
                <UserRound size={12} role="img" aria-label={t('assign.label')} />
                {assignee.username}
              </Text>
            )}
            {snoozedUntil !== null && (
              <Text size="xs" c="dimmed" className={classes.note}>
                <AlarmClock size={12} aria-hidden="true" />
                {t('snooze.until', { time: brief(new Date(snoozedUntil)) })}
              </Text>
            )}
            {contact.optedOut && (
              <Text size="xs" c="var(--mantine-color-error)" className={classes.note}>
                <Ban size={12} aria-hidden="true" />
                {t('optedOutShort')}
              </Text>
            )}
          </Group>
        )}
      </div>
    </Link>
  );
}

function LastMessage({ conversation: { lastMessage, unreadCount } }: Pick<ConversationRowProps, 'conversation'>) {
  const { t } = useTranslation('inbox');
  const { text, direction, messageType } = lastMessage;
  const words = text || t(`type.${messageType}`, { defaultValue: t('type.OTHER') });
  return (
    <Text size="sm" c={unreadCount > 0 ? undefined : 'dimmed'} truncate dir="auto">
      {direction === 'OUTBOUND' ? t('you', { text: words }) : words}
    </Text>
  );
}
