import { ActionIcon, Group, Text } from '@mantine/core';
import { AlarmClock, Archive, ArchiveRestore, ArrowLeft, MailOpen, Tag, UserRound } from 'lucide-react';
import { useNavigate } from '@tanstack/react-router';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/connection/lazy-part.ts';
import { Hint } from '../ui/hint.tsx';
import { ActionsMenu } from '../ui/actions/actions-menu.tsx';
import { GuardedIcon, useDisabledReason } from '../ui/actions/guarded-button.tsx';
import { MsisdnText } from '../ui/values/msisdn-text.tsx';
import { ChannelBadge } from '../ui/values/statuses.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { Assignee } from './assignee.tsx';
import { type Conversation, NEED, type Search } from './conversation.ts';
import { useLeave } from './desk/use-leave.ts';
import classes from './inbox.module.css';
import { onKey } from './use-keys.ts';

const LabelDialog = lazyPart(() => import('./desk/label-dialog.tsx').then((file) => ({ default: file.LabelDialog })));
const SnoozeDialog = lazyPart(() =>
  import('./desk/snooze-dialog.tsx').then((file) => ({ default: file.SnoozeDialog })),
);

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
        <Actions conversation={conversation} />
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

/** Actions for a conversation: icons with keys, on a phone a menu. */
function Actions({ conversation }: Pick<HeaderProps, 'conversation'>) {
  const { t } = useTranslation('inbox');
  const isPhone = useIsPhone();
  const [open, setOpen] = useState<'snooze' | 'labels' | null>(null);
  const leave = useLeave(conversation.chatId);
  const reason = useDisabledReason(NEED);
  const close = (): void => setOpen(null);
  const { archived } = conversation;
  const actions = [
    { key: 'l', label: t('label.open'), Sign: Tag, onClick: () => setOpen('labels') },
    { key: 'u', label: t('markUnread'), Sign: MailOpen, onClick: leave.unread },
    { key: 's', label: t('snooze.open'), Sign: AlarmClock, onClick: () => setOpen('snooze') },
    archived
      ? { key: 'e', label: t('unarchive'), Sign: ArchiveRestore, onClick: leave.unarchive }
      : { key: 'e', label: t('archive'), Sign: Archive, onClick: leave.archive },
  ];
  return (
    <>
      {isPhone ? (
        <ActionsMenu
          label={t('actions')}
          actions={actions.map(({ label, Sign, onClick }) => ({ label, reason, icon: <Sign size={16} />, onClick }))}
        />
      ) : (
        actions.map(({ key, label, Sign, onClick }) => (
          <GuardedIcon
            key={key}
            need={NEED}
            size="lg"
            label={label}
            loading={key === 'e' && leave.busy}
            {...onKey(key)}
            onClick={onClick}
          >
            <Sign size={18} />
          </GuardedIcon>
        ))
      )}
      <Suspense>
        <LabelDialog opened={open === 'labels'} onClose={close} conversation={conversation} />
        <SnoozeDialog
          opened={open === 'snooze'}
          busy={leave.busy}
          onClose={close}
          onChoose={(until) => {
            close();
            leave.snooze(until);
          }}
        />
      </Suspense>
    </>
  );
}
