import { Loader, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Bubble } from './bubble.tsx';
import { Consent } from './consent.tsx';
import type { Conversation } from '../conversation.ts';
import { type Note, notesQuery } from '../desk/tools.ts';
import { DayLine } from './day-line.tsx';
import { NoteBubble } from './note-bubble.tsx';
import classes from '../inbox.module.css';
import { LoadMore } from '../load-more.tsx';
import { listMessages, type Message, messagesOf, olderThan, threadKey } from './thread.ts';
import { useKeepPlace } from './use-keep-place.ts';

type MessagesProps = { readonly conversation: Conversation; readonly pollMs: number | false };

/**
 * The messages of a thread, scrolled to the end. Rendered with column-reverse, so that the view keeps its place when
 * older messages are prepended and stays at the end when new ones arrive.
 */
export function Messages({ conversation, pollMs }: MessagesProps) {
  const { t } = useTranslation('inbox');
  const { chatId, contact } = conversation;
  const thread = useInfiniteQuery({
    queryKey: threadKey(chatId),
    queryFn: ({ pageParam, signal }) => listMessages(chatId, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: olderThan,
    refetchInterval: pollMs,
  });
  const messages = thread.data ? messagesOf(thread.data) : [];
  const { data: notes = [] } = useQuery(notesQuery(chatId));
  const ref = useKeepPlace(messages.at(-1)?.id, messages.length + notes.length);
  return (
    <div
      ref={ref}
      className={classes.thread}
      // Focusable, so that it can be scrolled by keyboard.
      tabIndex={0}
      role="region"
      aria-label={t('messagesWith', { name: contact.name })}
    >
      {thread.isError && <ErrorState error={thread.error} onRetry={() => void thread.refetch()} />}
      {thread.isPending && <Loader size="sm" m="auto" aria-label={t('ui:loading')} />}
      {thread.data && (
        <div className={classes.messages}>
          {thread.hasNextPage ? (
            <LoadMore
              label={t('older')}
              busy={thread.isFetchingNextPage}
              onMore={() => void thread.fetchNextPage({ cancelRefetch: false })}
            />
          ) : (
            <Text size="xs" c="dimmed" ta="center">
              {t('beginning')}
            </Text>
          )}
          <ol className={classes.bubbles}>{withDays(withNotes(messages, notes, thread.hasNextPage), conversation)}</ol>
        </div>
      )}
    </div>
  );
}

type Entry = { readonly at: string; readonly message: Message } | { readonly at: string; readonly note: Note };

/** Messages and notes by their time. Of a thread that is not shown from its start, notes before the messages wait. */
function withNotes(messages: readonly Message[], notes: readonly Note[], hasOlder: boolean): readonly Entry[] {
  const start = hasOlder ? (messages[0]?.timestamp ?? '') : '';
  const shown = notes.filter(({ timestamp }) => timestamp >= start);
  return [
    ...messages.map((message) => ({ at: message.timestamp, message })),
    ...shown.map((note) => ({ at: note.timestamp, note })),
  ].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
}

/** The entries with a line at the start of each day. */
function withDays(entries: readonly Entry[], conversation: Conversation): ReactNode[] {
  let day = '';
  return entries.flatMap((entry) => {
    const its = new Date(entry.at).toDateString();
    const line = its === day ? [] : [<DayLine key={its} value={entry.at} />];
    day = its;
    if ('note' in entry)
      return [...line, <NoteBubble key={entry.note.id} note={entry.note} conversation={conversation} />];
    const { message } = entry;
    return [
      ...line,
      <Bubble key={message.id} message={message} name={conversation.contact.name} />,
      ...(message.consent
        ? [<Consent key={`${message.id} consent`} message={message} conversation={conversation} />]
        : []),
    ];
  });
}
