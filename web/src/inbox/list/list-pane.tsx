import { Button, Group, SegmentedControl, Stack } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Inbox, MessageSquarePlus, SearchX } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { ChoiceFilter, SearchField } from '../../ui/filter-bar.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { ConversationRow } from './conversation-row.tsx';
import { FoundMessages } from './found-messages.tsx';
import { CHANNELS, listConversations, NEED, type Search } from '../conversation.ts';
import { labelsQuery } from '../desk/tools.ts';
import classes from '../inbox.module.css';
import { LoadMore } from '../load-more.tsx';
import { useAssignable } from '../use-assignable.ts';

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
