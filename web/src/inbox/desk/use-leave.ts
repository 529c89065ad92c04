import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { notify, withdrawAction } from '../../api/notify.ts';
import { archiveConversation, type Search, unarchiveConversation } from '../conversation.ts';
import { onKey } from '../use-keys.ts';
import { nextChatAfter } from './next-chat.ts';
import { snoozeConversation, unreadConversation } from './tools.ts';

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
  const undo = useAction({ run: unarchiveConversation, refresh, onDone: () => open(chatId) });
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
    if (next !== '') open(next);
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
