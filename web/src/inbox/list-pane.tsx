import { Badge, Button, Group, SegmentedControl, Stack, Text, VisuallyHidden } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import {
  AlarmClock,
  Ban,
  Inbox,
  MessageCircle,
  MessageSquare,
  MessageSquarePlus,
  MessagesSquare,
  SearchX,
  UserRound,
} from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { GuardedIcon } from '../ui/actions.tsx';
import { ChoiceFilter, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, TableSkeleton } from '../ui/parts.tsx';
import { useNow } from '../ui/values.tsx';
import {
  CHANNELS,
  type Conversation,
  labelsQuery,
  listConversations,
  NEED,
  type Search,
  searchMessages,
  useAssignable,
} from './conversation.ts';
import { LabelBadge, LoadMore } from './drafts.tsx';
import classes from './inbox.module.css';
import { ROW } from './use-keys.ts';

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
      <Rows {...props} />
    </div>
  );
}

function Filters({ search, onSearch, onCreate }: ListPaneProps) {
  const { t } = useTranslation('inbox');
  const { user } = useSession();
  const { data: labels = [] } = useQuery(labelsQuery);
  const people = useAssignable().filter(({ id }) => id !== user.id);
  return (
    <Stack gap="xs" p="sm" role="search" className={classes.filters}>
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
        {onCreate && (
          <GuardedIcon need={NEED} variant="filled" color="amber" size={36} label={t('new.open')} onClick={onCreate}>
            <MessageSquarePlus size={18} />
          </GuardedIcon>
        )}
      </Group>
      <div className={classes.choices}>
        <ChoiceFilter
          label={t('filter.channel')}
          options={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={search.channel}
          onChange={(channel) => onSearch({ channel })}
        />
        <ChoiceFilter
          label={t('filter.assignee')}
          options={[
            { value: 'me', label: t('filter.me') },
            { value: 'none', label: t('filter.nobody') },
            ...people.map(({ id, username }) => ({ value: String(id), label: username })),
          ]}
          value={search.assignee}
          onChange={(assignee) => onSearch({ assignee })}
        />
        {labels.length > 0 && (
          <ChoiceFilter
            label={t('filter.label')}
            options={labels.map(({ id, name }) => ({ value: String(id), label: name }))}
            value={search.label}
            onChange={(label) => onSearch({ label })}
          />
        )}
      </div>
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

function Rows({ search, onSearch, pollMs, create }: ListPaneProps) {
  const { t } = useTranslation('inbox');
  const list = useConversations(search, pollMs);
  if (list.isError) return <ErrorState error={list.error} onRetry={() => void list.refetch()} />;
  if (list.isPending)
    return (
      <div className={classes.loading}>
        <TableSkeleton rows={6} />
      </div>
    );
  // A conversation that moved to another page between two requests is in both.
  const rows = [...new Map(list.data.pages.flatMap(({ data }) => data.map((row) => [row.chatId, row]))).values()];
  const found = search.q === '' ? null : <FoundMessages search={search} />;
  if (rows.length === 0)
    return (
      <div className={classes.scroll}>
        {found}
        <Nothing search={search} onSearch={onSearch} create={create} />
      </div>
    );
  return (
    <div className={classes.scroll} aria-busy={list.isPlaceholderData}>
      <nav aria-label={t('list')}>
        <ul className={classes.rows}>
          {rows.map((conversation) => (
            <li key={conversation.chatId}>
              <ConversationRow conversation={conversation} search={search} />
            </li>
          ))}
        </ul>
      </nav>
      {list.hasNextPage && (
        <LoadMore label={t('more')} busy={list.isFetchingNextPage} onMore={() => void list.fetchNextPage()} />
      )}
      {found}
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

type ConversationRowProps = { readonly conversation: Conversation; readonly search: Search };

/** One conversation in the list: person, time, last message and unread count. */
function ConversationRow({ conversation, search }: ConversationRowProps) {
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

/** The messages with the searched words, of all conversations, archived ones included. */
function FoundMessages({ search }: { readonly search: Search }) {
  const { t } = useTranslation('inbox');
  const { data = [] } = useQuery({
    queryKey: ['inbox', 'found', search.q],
    queryFn: ({ signal }) => searchMessages(search.q, signal),
    placeholderData: keepPreviousData,
  });
  if (data.length === 0) return null;
  return (
    <nav aria-label={t('found.title')}>
      <Text size="xs" fw={600} c="dimmed" px={12} pt={12} pb={4}>
        {t('found.title')}
      </Text>
      <ul className={classes.rows}>
        {data.map(({ message, conversation }) => (
          <li key={message.id}>
            <Link
              to="."
              search={() => ({ ...search, chat: conversation.chatId })}
              preload={false}
              className={classes.row}
              {...{ [ROW]: conversation.chatId }}
            >
              <div className={classes.rowText}>
                <Group gap="xs" wrap="nowrap" justify="space-between">
                  <Text size="sm" fw={550} truncate dir="auto">
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

const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString();

/** A short time for lists: the time today, else the date; the full time on hover. */
function ShortTime({ value }: { readonly value: string }) {
  const { clock, day, exact } = useFormat();
  const now = useNow(60_000);
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
      {isSameDay(instant, now) ? clock(instant) : day(instant)}
    </Text>
  );
}
