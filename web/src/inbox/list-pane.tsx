import { ActionIcon, Badge, Button, Group, SegmentedControl, Stack, Text, VisuallyHidden } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  AlarmClock,
  Ban,
  Inbox,
  MessageCircle,
  MessageSquare,
  MessageSquarePlus,
  MessagesSquare,
  SearchX,
  SlidersHorizontal,
} from 'lucide-react';
import { memo, type ReactNode, Suspense, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { Initials } from '../ui/initials.tsx';
import { EmptyState, ErrorState, OnDemand, TableSkeleton } from '../ui/parts.tsx';
import {
  type Conversation,
  listConversations,
  NEED,
  type Search,
  searchMessages,
  useColleagueName,
} from './conversation.ts';
import { LabelDot, LoadMore } from './drafts.tsx';
import classes from './inbox.module.css';
import { ROW } from './use-keys.ts';

const Wishes = lazyPart(() => import('./wishes.tsx').then((file) => ({ default: file.Wishes })));

type ListPaneProps = {
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  readonly pollMs: number | false;
  /** The button that starts a conversation. */
  readonly create: ReactNode;
  /** Starts a conversation, where the page has no room for that button. */
  readonly onCreate: (() => void) | undefined;
};

/** The filters and the matching conversations, newest first. */
export function ListPane(props: ListPaneProps) {
  return (
    <div className={classes.list}>
      <Filters {...props} />
      <Suspense>{props.search.show === '' && <Wishes />}</Suspense>
      <Rows {...props} />
    </div>
  );
}

const ListFilters = lazyPart(() => import('./list-filters.tsx').then((file) => ({ default: file.ListFilters })));

/** What is shown, the search, and the other filters behind a button with their number. */
function Filters({ search, onSearch, onCreate }: ListPaneProps) {
  const { t } = useTranslation('inbox');
  const set = [search.channel, search.assignee, search.label].filter((value) => value !== '').length;
  const more = (
    <ActionIcon
      variant={set > 0 ? 'light' : 'default'}
      size={36}
      aria-label={set > 0 ? t('filter.moreSet', { count: set }) : t('filter.more')}
    >
      {set > 0 ? <Text size="sm">{set}</Text> : <SlidersHorizontal size={16} />}
    </ActionIcon>
  );
  return (
    <Stack gap="xs" px="sm" py="xs" role="search" className={classes.filters}>
      <SegmentedControl
        fullWidth
        size="xs"
        aria-label={t('filter.show')}
        data={[
          { value: '', label: t('filter.open') },
          { value: 'unread', label: t('filter.unread') },
          { value: 'snoozed', label: t('filter.snoozed') },
          { value: 'archived', label: t('filter.archived') },
        ]}
        value={search.show}
        onChange={(show) => onSearch({ show })}
      />
      <Group gap="xs" wrap="nowrap">
        <SearchField wide label={t('filter.search')} value={search.q} onChange={(q) => onSearch({ q })} shortcut="/" />
        <OnDemand button={more} kind="dialog">
          <ListFilters button={more} search={search} onSearch={onSearch} />
        </OnDemand>
        {onCreate && (
          <GuardedIcon need={NEED} variant="filled" color="amber" size={36} label={t('new.open')} onClick={onCreate}>
            <MessageSquarePlus size={18} />
          </GuardedIcon>
        )}
      </Group>
    </Stack>
  );
}

function useConversations({ show, channel, assignee, label, q }: Search, pollMs: number | false) {
  const { user } = useSession();
  const filters = { chat: '', show, channel, assignee, label, q };
  return useInfiniteQuery({
    queryKey: ['inbox', 'list', filters],
    queryFn: ({ pageParam: page, signal }) => listConversations(filters, { page, userId: user.id, signal }),
    initialPageParam: 0,
    getNextPageParam: ({ page, limit, total }) => ((page + 1) * limit < total ? page + 1 : undefined),
    placeholderData: keepPreviousData,
    refetchInterval: pollMs,
  });
}

/** The height of a row, in rem (inbox.module.css). */
const ROW_REM = 3.5;
const rowHeight = (): number => ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
const OVERSCAN = 8;

function Rows({ search, onSearch, pollMs, create }: ListPaneProps) {
  const { t } = useTranslation('inbox');
  const list = useConversations(search, pollMs);
  const found = useFoundMessages(search.q);
  const pane = useRef<HTMLDivElement>(null);
  // A conversation that moved to another page between two requests is in both.
  const rows = useMemo(
    () => [...new Map(list.data?.pages.flatMap(({ data }) => data.map((row) => [row.chatId, row]))).values()],
    [list.data],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => pane.current,
    estimateSize: rowHeight,
    getItemKey: (index) => rows[index]?.chatId ?? index,
    overscan: OVERSCAN,
  });
  if (list.isError) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />;
  if (list.isPending)
    return (
      <div className={classes.loading}>
        <TableSkeleton rows={6} />
      </div>
    );
  return (
    <div ref={pane} className={classes.scroll} aria-busy={list.isPlaceholderData}>
      {rows.length > 0 && (
        <nav aria-label={t('list')}>
          <ul className={classes.rows} style={{ height: virtual.getTotalSize() }}>
            {virtual.getVirtualItems().map(({ key, index, start }) => {
              const row = rows[index];
              return (
                row && (
                  <li key={key} className={classes.place} style={{ transform: `translateY(${start}px)` }}>
                    <ConversationRow conversation={row} isOpen={row.chatId === search.chat} />
                  </li>
                )
              );
            })}
          </ul>
        </nav>
      )}
      {list.hasNextPage && (
        <LoadMore label={t('more')} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
      )}
      {found.length > 0 && <FoundMessages found={found} />}
      {rows.length + found.length === 0 && <Nothing search={search} onSearch={onSearch} create={create} />}
    </div>
  );
}

const NONE = { unread: 'noUnread', snoozed: 'noSnoozed', archived: 'noArchived' } as const;

function Nothing({ search, onSearch, create }: Pick<ListPaneProps, 'search' | 'onSearch' | 'create'>) {
  const { t } = useTranslation('inbox');
  const { show, channel, assignee, label, q } = search;
  const isFiltered = channel !== '' || assignee !== '' || label !== '' || q !== '';
  if (!isFiltered && show === '')
    return (
      <EmptyState icon={Inbox} title={t('empty.title')} text={t('empty.text')} help="concepts#conversations">
        {create}
      </EmptyState>
    );
  const kind = isFiltered || show === '' ? 'noMatch' : NONE[show];
  return (
    <EmptyState icon={isFiltered ? SearchX : Inbox} title={t(`${kind}.title`)} text={t(`${kind}.text`)}>
      <Button variant="default" onClick={() => onSearch({ show: '', channel: '', assignee: '', label: '', q: '' })}>
        {t('showAll')}
      </Button>
    </EmptyState>
  );
}

const SIGNS = { SMS: MessageSquare, WHATSAPP: MessageCircle, RCS: MessagesSquare } as const;

type ConversationRowProps = { readonly conversation: Conversation; readonly isOpen: boolean };

/** One conversation in two lines: person, labels and time; last message, assignee, state and unread count. */
function PlainRow({ conversation, isOpen }: ConversationRowProps) {
  const { t } = useTranslation('inbox');
  const { brief } = useFormat();
  const { chatId, channel, contact, unreadCount, lastMessageDate, assignee, labels, snoozedUntil } = conversation;
  const Sign = SIGNS[channel];
  return (
    <Link
      to="."
      search={(before: Partial<Search>) => ({ ...before, chat: chatId })}
      preload={false}
      className={classes.row}
      aria-current={isOpen}
      {...{ [ROW]: chatId }}
    >
      <span className={classes.who}>
        <Initials name={contact.name} size={36} />
        <span className={classes.sign} data-channel={channel}>
          <Sign size={12} role="img" aria-label={t(`ui:channel.${channel}`)} />
        </span>
      </span>
      <div className={classes.rowText}>
        <Group gap="xs" wrap="nowrap">
          <Text size="sm" fw={unreadCount > 0 ? 600 : 400} truncate dir="auto" flex={1}>
            {contact.name}
          </Text>
          {labels.map((label) => (
            <LabelDot key={label.id} label={label} />
          ))}
          <ShortTime value={lastMessageDate} />
        </Group>
        <Group gap={6} wrap="nowrap">
          <LastMessage conversation={conversation} />
          {contact.optedOut && (
            <Ban size={14} role="img" aria-label={t('optedOutShort')} color="var(--mantine-color-error)" />
          )}
          {snoozedUntil !== null && (
            <AlarmClock
              size={14}
              role="img"
              aria-label={t('snooze.until', { time: brief(new Date(snoozedUntil)) })}
              color="var(--mantine-color-dimmed)"
            />
          )}
          {assignee !== null && <Assignee username={assignee.username} />}
          {unreadCount > 0 && (
            <Badge
              size="sm"
              variant="filled"
              bg="var(--mantine-color-text)"
              c="var(--mantine-color-body)"
              circle={unreadCount < 10}
              style={{ flexShrink: 0 }}
            >
              <span aria-hidden="true">{unreadCount}</span>
              <VisuallyHidden>{t('unreadHere', { count: unreadCount })}</VisuallyHidden>
            </Badge>
          )}
        </Group>
      </div>
    </Link>
  );
}

function Assignee({ username }: { readonly username: string }) {
  const { t } = useTranslation('inbox');
  const name = useColleagueName()(username);
  return (
    <span role="img" aria-label={`${t('assign.label')}: ${name}`} title={name}>
      <Initials name={name} size={18} />
    </span>
  );
}

/** Events change a row at a time: the others are not rendered again. */
const ConversationRow = memo(PlainRow);

function LastMessage({ conversation: { lastMessage, unreadCount } }: Pick<ConversationRowProps, 'conversation'>) {
  const { t } = useTranslation('inbox');
  const { text, direction, messageType } = lastMessage;
  const words = text || t(`type.${messageType}`, { defaultValue: t('type.OTHER') });
  return (
    <Text size="sm" c={unreadCount > 0 ? undefined : 'dimmed'} truncate dir="auto" flex={1}>
      {direction === 'OUTBOUND' ? t('you', { text: words }) : words}
    </Text>
  );
}

/** The messages with the searched words, of all conversations, archived ones included. */
function useFoundMessages(q: string) {
  const { data = [] } = useQuery({
    queryKey: ['inbox', 'found', q],
    queryFn: ({ signal }) => searchMessages(q, signal),
    enabled: q !== '',
    placeholderData: keepPreviousData,
  });
  return q === '' ? [] : data;
}

function FoundMessages({ found }: { readonly found: ReturnType<typeof useFoundMessages> }) {
  const { t } = useTranslation('inbox');
  return (
    <nav aria-label={t('found.title')}>
      <Text size="xs" fw={500} c="dimmed" px={12} pt={12} pb={4}>
        {t('found.title')}
      </Text>
      <ul className={classes.rows}>
        {found.map(({ message, conversation }) => (
          <li key={message.id}>
            <Link
              to="."
              search={(before: Partial<Search>) => ({ ...before, chat: conversation.chatId })}
              preload={false}
              className={classes.row}
              data-found=""
              {...{ [ROW]: conversation.chatId }}
            >
              <div className={classes.rowText}>
                <Group gap="xs" wrap="nowrap" justify="space-between">
                  <Text size="sm" truncate dir="auto">
                    {conversation.contact.name}
                  </Text>
                  <ShortTime value={message.timestamp} />
                </Group>
                <Text size="sm" c="dimmed" lineClamp={2} dir="auto">
                  {message.direction === 'OUTBOUND' ? t('you', { text: message.text }) : message.text}
                </Text>
              </div>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** A short time for lists: the time today, else the date; the full time on hover. */
function ShortTime({ value }: { readonly value: string }) {
  const { moment, exact } = useFormat();
  const instant = new Date(value);
  return (
    <Text
      component="time"
      size="xs"
      c="dimmed"
      dateTime={value}
      title={exact(instant)}
      style={{ whiteSpace: 'nowrap', flexShrink: 0 }}
    >
      {moment(instant)}
    </Text>
  );
}
