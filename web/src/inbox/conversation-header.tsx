import { ActionIcon, Group, Text } from '@mantine/core';
import { Archive, ArchiveRestore, ArrowLeft, UserRound } from 'lucide-react';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Hint } from '../ui/hint.tsx';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { ChannelBadge } from '../ui/values/statuses.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { Assignee } from './assignee.tsx';
import { archiveConversation, type Conversation, NEED, type Search, unarchiveConversation } from './conversation.ts';
import classes from './inbox.module.css';

type HeaderProps = {
  readonly conversation: Conversation;
  /** Opens the contact details; undefined if they are shown already. */
  readonly onPerson: (() => void) | undefined;
};

/** The header of a conversation: the person, and the actions on the conversation. */
export function ConversationHeader({ conversation, onPerson }: HeaderProps) {
  const { t } = useTranslation('inbox');
  const isPhone = useIsPhone();
  const { contact, channel } = conversation;
  return (
    <header className={classes.header}>
      {isPhone && <Back />}
      <div className={classes.who}>
        <Text fw={650} truncate dir="auto" component="h2" m={0}>
          {contact.name}
        </Text>
        <Group gap="xs" wrap="nowrap">
          <ChannelBadge channel={channel} />
          {onPerson && !isPhone && contact.phoneNumber !== null && contact.phoneNumber !== contact.name && (
            <Text size="xs" c="dimmed" truncate>
              <MsisdnText number={contact.phoneNumber} />
            </Text>
          )}
        </Group>
      </div>
      <Group gap={4} wrap="nowrap">
        {!isPhone && <Assignee conversation={conversation} />}
        <ArchiveButton conversation={conversation} />
        {onPerson && (
          <Hint label={t('person.open')}>
            <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('person.open')} onClick={onPerson}>
              <UserRound size={18} />
            </ActionIcon>
          </Hint>
        )}
      </Group>
    </header>
  );
}

function Back() {
  const { t } = useTranslation('inbox');
  const navigate = useNavigate();
  const back = (): void =>
    void navigate({ to: '.', search: (before: Partial<Search>) => ({ ...before, chat: undefined }), replace: true });
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('back')} onClick={back}>
      <ArrowLeft size={20} />
    </ActionIcon>
  );
}

function ArchiveButton({ conversation: { chatId, archived } }: Pick<HeaderProps, 'conversation'>) {
  const { t } = useTranslation('inbox');
  const change = useAction({
    run: archived ? unarchiveConversation : archiveConversation,
    refresh: [
      ['inbox', 'one', chatId],
      ['inbox', 'list'],
      ['inbox', 'unread'],
    ],
    done: t(archived ? 'unarchived' : 'archived'),
  });
  const Sign = archived ? ArchiveRestore : Archive;
  return (
    <GuardedIcon
      need={NEED}
      size="lg"
      label={t(archived ? 'unarchive' : 'archive')}
      loading={change.busy}
      onClick={() => change.run(chatId)}
    >
      <Sign size={18} />
    </GuardedIcon>
  );
}
