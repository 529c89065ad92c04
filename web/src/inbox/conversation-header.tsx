import { ActionIcon, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { AlarmClock, Archive, ArchiveRestore, ArrowLeft, MailOpen, Tag, UserRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { notify, withdrawAction } from '../api/notify.ts';
import { useSession } from '../api/session.ts';
import { ActionsMenu, CopyButton, GuardedIcon, useDisabledReason } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Hint } from '../ui/hint.tsx';
import { callName, Initials } from '../ui/initials.tsx';
import { ButtonLink, Muted, useIsPhone } from '../ui/parts.tsx';
import {
  ChannelBadge,
  Channels,
  customFieldName,
  DateTime,
  type Fact,
  Facts,
  MsisdnText,
  StatusBadge,
} from '../ui/values.tsx';
import {
  archiveConversation,
  assignConversation,
  type Conversation,
  NEED,
  type Search,
  sendersQuery,
  snoozeConversation,
  unarchiveConversation,
  unreadConversation,
  useAssignable,
  useContact,
  useListsOf,
} from './conversation.ts';
import classes from './inbox.module.css';
import { onKey, ROW } from './use-keys.ts';

const LabelDialog = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.LabelDialog })));
const SnoozeDialog = lazyPart(() => import('./dialogs.tsx').then((file) => ({ default: file.SnoozeDialog })));

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
        <Text fw={600} truncate dir="auto" component="h2" m={0}>
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
  const leave = useLeave(conversation.chatId);
  const reason = useDisabledReason(NEED);
  const { archived } = conversation;
  const actions = [
    {
      key: 'l',
      label: t('label.open'),
      Sign: Tag,
      onClick: () => openDialog(<LabelDialog conversation={conversation} />),
    },
    { key: 'u', label: t('markUnread'), Sign: MailOpen, onClick: leave.unread },
    {
      key: 's',
      label: t('snooze.open'),
      Sign: AlarmClock,
      onClick: () => openDialog(<SnoozeDialog onChoose={leave.snooze} />),
    },
    archived
      ? { key: 'e', label: t('unarchive'), Sign: ArchiveRestore, onClick: leave.unarchive }
      : { key: 'e', label: t('archive'), Sign: Archive, onClick: leave.archive },
  ];
  if (isPhone)
    return (
      <ActionsMenu
        label={t('actions')}
        actions={actions.map(({ label, Sign, onClick }) => ({ label, reason, icon: <Sign size={16} />, onClick }))}
      />
    );
  return actions.map(({ key, label, Sign, onClick }) => (
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
  ));
}

type ContactPaneProps = { readonly conversation: Conversation };

/** The details of the person, and the number or agent that replies come from. */
export function ContactPane({ conversation }: ContactPaneProps) {
  const { t } = useTranslation('inbox');
  const { contact, channel } = conversation;
  const isPhone = useIsPhone();
  const known = useContact(contact.id);
  const facts = useFacts(conversation, known);
  return (
    <Stack gap="lg">
      <Stack gap={6} align="center" ta="center">
        <Initials name={contact.name} size={64} />
        <Text component="h3" m={0} fw={600} size="lg" dir="auto" className="foreign-text">
          {contact.name}
        </Text>
        <ChannelBadge channel={channel} />
        {contact.optedOut && <StatusBadge tone="bad">{t('optedOutShort')}</StatusBadge>}
      </Stack>
      {isPhone && <Assignee conversation={conversation} />}
      <Facts facts={facts} />
      {contact.id === null ? (
        <Muted>{t('person.unknown')}</Muted>
      ) : (
        <ButtonLink to={`/contacts/${contact.id}`} variant="default" fullWidth>
          {t('person.contact')}
        </ButtonLink>
      )}
    </Stack>
  );
}

function useFacts(conversation: Conversation, known: ReturnType<typeof useContact>): readonly Fact[] {
  const { t } = useTranslation('inbox');
  const { contact, lastMessageDate } = conversation;
  const identity = useIdentityName(conversation);
  const format = useFormat();
  const lists = useListsOf(contact.id);
  const reachable = known?.communicationSupported.filter((channel) => !known.optedOut.includes(channel)) ?? [];
  const facts: readonly (Fact | false | undefined)[] = [
    contact.phoneNumber !== null && {
      label: t('person.number'),
      value: <PhoneNumber number={contact.phoneNumber} />,
    },
    { label: t('person.identity'), value: <span className="foreign-text">{identity}</span> },
    { label: t('person.last'), value: <DateTime value={lastMessageDate} /> },
    known &&
      known.email !== null && { label: t('person.email'), value: <span className="foreign-text">{known.email}</span> },
    known && reachable.length > 0 && { label: t('person.reachable'), value: <Channels channels={reachable} /> },
    known &&
      known.optedOut.length > 0 && { label: t('person.optedOut'), value: <Channels channels={known.optedOut} /> },
    ...Object.entries(known?.customFields ?? {}).map(
      ([name, value]) =>
        value !== null && {
          label: customFieldName(name),
          value: <span className="foreign-text">{String(value)}</span>,
        },
    ),
    lists !== undefined &&
      lists.length > 0 && {
        label: t('person.lists'),
        value: <span className="foreign-text">{format.list(lists.map(({ name }) => name))}</span>,
      },
    known && { label: t('person.since'), value: <DateTime value={known.createdAt} show="day" /> },
  ];
  return facts.filter((fact) => typeof fact === 'object');
}

/** The name of the number or agent; on WhatsApp and RCS its ID means nothing to users. */
function useIdentityName({ channel, channelIdentity }: Conversation): string {
  const may = useSession().may({ scope: channel });
  const { data } = useQuery({ ...sendersQuery(channel), enabled: may && channel !== 'SMS' });
  return data?.find(({ value }) => value === channelIdentity)?.label ?? channelIdentity;
}

const PhoneNumber = ({ number }: { readonly number: string }) => (
  <span className={classes.number}>
    <MsisdnText number={number} />
    <CopyButton text={number} />
  </span>
);

const LISTS = [
  ['inbox', 'list'],
  ['inbox', 'unread'],
];

/** The conversation that was left last: only that is undone, in whatever order the responses arrive. */
let lastLeft = '';

/**
 * The actions after which a conversation leaves the open list: the next one is opened, and archiving and snoozing can be
 * undone for a few seconds, also by key.
 */
export function useLeave(chatId: string) {
  const { t } = useTranslation('inbox');
  const navigate = useNavigate();
  const open = (chat: string): void =>
    void navigate({
      to: '.',
      search: (before: Partial<Search>) => ({ ...before, chat: chat === '' ? undefined : chat }),
    });
  const refresh = [['inbox', 'one', chatId], ...LISTS];
  const undo = useAction({ run: unarchiveConversation, refresh, done: t('undone'), onDone: () => open(chatId) });
  const offerUndo = (message: string): void => {
    if (lastLeft !== chatId) return;
    void notify({
      message,
      tone: 'good',
      closeLabel: t('ui:close'),
      action: { label: t('undo'), onClick: () => undo.run(chatId), attributes: onKey('z') },
    });
  };
  const archive = useAction({ run: archiveConversation, refresh, onDone: () => offerUndo(t('archived')) });
  const snooze = useAction({ run: snoozeConversation, refresh, onDone: () => offerUndo(t('snooze.done')) });
  /** Opens the next conversation without waiting, so that a key pressed again means the next conversation and not this one. */
  const openNext = (): void => {
    lastLeft = chatId;
    void withdrawAction();
    const next = nextChatAfter(chatId);
    if (next === '') return;
    open(next);
    document.querySelector<HTMLElement>(`[${ROW}="${CSS.escape(next)}"]`)?.focus();
  };
  const unread = useAction({ run: unreadConversation, refresh: LISTS });
  return {
    busy: archive.busy || snooze.busy || unread.busy,
    archive: () => {
      openNext();
      archive.run(chatId);
    },
    snooze: (until: Date) => {
      openNext();
      snooze.run({ chatId, until });
    },
    /** Leaves first: an open conversation is marked as read. */
    unread: () => {
      open('');
      unread.run(chatId);
    },
    unarchive: () => undo.run(chatId),
  };
}

type AssigneeProps = { readonly conversation: Conversation };

/** The select for the assignee of a conversation. */
function Assignee({ conversation: { chatId, assignee } }: AssigneeProps) {
  const { t } = useTranslation('inbox');
  const { user } = useSession();
  const reason = useDisabledReason(NEED);
  const people = useAssignable();
  const assign = useAction({
    run: assignConversation,
    refresh: [['inbox', 'one', chatId]],
  });
  // The assignee may have been removed or made a viewer since.
  const known = assignee === null || people.some(({ id }) => id === assignee.userId);
  const options = [
    { value: '', label: t('assign.nobody') },
    ...(known ? [] : [{ value: String(assignee.userId), label: assignee.username }]),
    ...people.map((person) => ({
      value: String(person.id),
      label: person.id === user.id ? t('assign.me', { name: callName(person) }) : callName(person),
    })),
  ];
  return (
    <Hint label={reason ?? t('assign.label')}>
      <NativeSelect
        aria-label={t('assign.label')}
        {...onKey('a')}
        className={classes.assignee}
        size="xs"
        leftSection={<UserRound size={14} aria-hidden="true" />}
        data={options}
        value={String(assignee?.userId ?? '')}
        disabled={reason !== undefined || assign.busy}
        onChange={({ currentTarget: { value } }) => assign.run({ chatId, userId: value === '' ? null : Number(value) })}
      />
    </Hint>
  );
}

/**
 * The conversation to open when this one leaves the list: the one below it, else the one above; '' if there is none. Of one
 * that is not in the list, as just after an undo, it is the first one.
 */
function nextChatAfter(chatId: string): string {
  const rows = [...document.querySelectorAll<HTMLElement>(`[${ROW}]`)].map((row) => row.getAttribute(ROW) ?? '');
  const at = rows.indexOf(chatId);
  return rows[at + 1] ?? rows[at - 1] ?? '';
}
