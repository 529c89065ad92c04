import { Badge, VisuallyHidden } from '@mantine/core';
import { useThrottledCallback } from '@mantine/hooks';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { alertOf, unreadQuery } from '../api/data.ts';
import { alertOfMention } from '../api/mentions.ts';
import { refresh } from '../api/refresh.ts';
import { useSession } from '../api/session.ts';
import { useStream } from '../api/stream.ts';
import { setUnreadTitle } from '../ui/parts.tsx';

const STREAM = '/api/partner-gateway/v1/inbox/conversations/stream';
/**
 * Events that change the count, and notes, which may mention the user; `ready` covers messages between the first count and
 * the opening of the stream.
 */
const EVENTS = ['ready', 'reload', 'message', 'conversation', 'note'] as const;
const REFRESH_MS = 1_000;

/** The number of unread conversations next to the link to the inbox, and in the window title of every page. */
export function UnreadBadge() {
  const { t } = useTranslation('app');
  const may = useSession().may({ scope: 'inbox' });
  const { data: unread = 0 } = useQuery({ ...unreadQuery, enabled: may });
  useEffect(() => setUnreadTitle(may ? unread : 0), [may, unread]);
  if (unread === 0) return null;
  return (
    <Badge size="sm" variant="filled" bg="var(--mantine-color-text)" c="var(--mantine-color-body)" ml="auto">
      <span aria-hidden="true">{unread > 999 ? '999+' : unread}</span>
      <VisuallyHidden>{t('unread', { count: unread })}</VisuallyHidden>
    </Badge>
  );
}

/** Follows the inbox on all other pages, so that the badge is up to date and the user is notified of new messages. */
export function InboxWatch() {
  const may = useSession().may({ scope: 'inbox' });
  const isInbox = useRouterState({ select: ({ location }) => location.pathname === '/inbox' });
  return may && !isInbox ? <Watching /> : null;
}

/** One tab follows the inbox, and notifies the others when they have to count again. */
function Watching() {
  const { account } = useSession();
  const name = `heliograph-inbox-${account.id}`;
  const isLeader = useLeader(name);
  const queries = useQueryClient();
  useEffect(() => {
    const tabs = new BroadcastChannel(name);
    tabs.addEventListener('message', () => void refresh(queries, unreadQuery.queryKey));
    return () => tabs.close();
  }, [name, queries]);
  return isLeader ? <Following name={name} /> : null;
}

function Following({ name }: { readonly name: string }) {
  const { t } = useTranslation('app');
  const navigate = useNavigate();
  const { account, user } = useSession();
  // Heard by all tabs, this one included.
  const recount = useThrottledCallback(() => {
    const tabs = new BroadcastChannel(name);
    tabs.postMessage('recount');
    tabs.close();
  }, REFRESH_MS);
  const onOpen = (chat: string): void => void navigate({ to: '/inbox', search: { chat } });
  useStream(`${STREAM}?account=${account.id}`, EVENTS, ({ event, data }) => {
    if (event === 'note') return alertOfMention(data, { username: user.username, t, onOpen });
    recount();
    if (event !== 'message' || !isInbound(data)) return;
    const { chatId, text } = data;
    alertOf({ title: t('newMessage'), text: text.slice(0, 200), onOpen: () => onOpen(chatId) });
  });
  return null;
}

type Inbound = { readonly chatId: string; readonly text: string };

const isInbound = (data: unknown): data is Inbound =>
  typeof data === 'object' &&
  data !== null &&
  Reflect.get(data, 'direction') === 'INBOUND' &&
  ['chatId', 'text'].every((name) => typeof Reflect.get(data, name) === 'string');

/**
 * Returns true if this tab is the one that works for all tabs of the console in this browser: one at a time, and
 * another when it is closed. Browsers open six connections to a server (HTTP/1.1), so each tab cannot hold its own for
 * good. Without a secure context, where there are no locks, each tab works for itself.
 */
function useLeader(name: string): boolean {
  const [isLeader, setLeader] = useState(!('locks' in navigator));
  useEffect(() => {
    if (!('locks' in navigator)) return;
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    const waiting = new AbortController();
    const lead = async (): Promise<void> => {
      setLeader(true);
      await left;
    };
    // Rejects when the tab leaves before its turn.
    navigator.locks.request(name, { signal: waiting.signal }, lead).catch(() => undefined);
    return () => {
      waiting.abort();
      leave();
      setLeader(false);
    };
  }, [name]);
  return isLeader;
}
