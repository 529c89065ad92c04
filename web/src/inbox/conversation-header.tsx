import { ActionIcon, Group, NativeSelect, Text, Tooltip } from '@mantine/core';
import { Archive, ArchiveRestore, ArrowLeft, UserRound } from 'lucide-react';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useSession } from '../api/session.ts';
import { MayIcon, useReason } from '../ui/may-button.tsx';
import { MsisdnText } from '../ui/msisdn-text.tsx';
import { ChannelBadge } from '../ui/statuses.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import {
  archiveConversation,
  assignConversation,
  type Conversation,
  NEED,
  type Search,
  unarchiveConversation,
} from './conversation.ts';
import classes from './inbox.module.css';
import { useAssignable } from './use-assignable.ts';

type HeaderProps = {
  readonly conversation: Conversation;
  /** Shows the person; undefined where they are shown already. */
  readonly onPerson: (() => void) | undefined;
};

/** With whom, and what can be done with the whole conversation. */
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
          {!isPhone && contact.phoneNumber !== null && contact.phoneNumber !== contact.name && (
            <Text size="xs" c="dimmed">
              <MsisdnText number={contact.phoneNumber} />
            </Text>
          )}
        </Group>
      </div>
      <Group gap={4} wrap="nowrap">
        <Assignee conversation={conversation} />
        <ArchiveButton conversation={conversation} />
        {onPerson && (
          <Tooltip label={t('person.open')}>
            <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('person.open')} onClick={onPerson}>
              <UserRound size={18} />
            </ActionIcon>
          </Tooltip>
        )}
      </Group>
    </header>
  );
}

function Back() {
  const { t } = useTranslation('inbox');
  const navigate = useNavigate();
  const back = (): void =>
    void navigate({ to: '.', search: ({ chat: _, ...before }: Partial<Search>) => before, replace: true });
  return (
    <ActionIcon variant="subtle" color="gray" size="lg" aria-label={t('back')} onClick={back}>
      <ArrowLeft size={20} />
    </ActionIcon>
  );
}

function Assignee({ conversation: { chatId, assignee } }: Pick<HeaderProps, 'conversation'>) {
  const { t } = useTranslation('inbox');
  const { user } = useSession();
  const reason = useReason(NEED);
  const people = useAssignable();
  const assign = useAction({
    run: assignConversation,
    refresh: [['inbox', 'one', chatId]],
  });
  // Whoever has it may have been removed or made a viewer since.
  const known = assignee === null || people.some(({ id }) => id === assignee.userId);
  const options = [
    { value: '', label: t('assign.nobody') },
    ...(known ? [] : [{ value: String(assignee.userId), label: assignee.username }]),
    ...people.map(({ id, username }) => ({
      value: String(id),
      label: id === user.id ? t('assign.me', { name: username }) : username,
    })),
  ];
  return (
    <Tooltip label={reason ?? t('assign.label')}>
      <NativeSelect
        aria-label={t('assign.label')}
        className={classes.assignee}
        size="xs"
        leftSection={<UserRound size={14} aria-hidden="true" />}
        data={options}
        value={String(assignee?.userId ?? '')}
        disabled={reason !== undefined || assign.busy}
        onChange={({ currentTarget: { value } }) => assign.run({ chatId, userId: value === '' ? null : Number(value) })}
      />
    </Tooltip>
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
    <MayIcon
      need={NEED}
      size="lg"
      label={t(archived ? 'unarchive' : 'archive')}
      loading={change.busy}
      onClick={() => change.run(chatId)}
    >
      <Sign size={18} />
    </MayIcon>
  );
}
