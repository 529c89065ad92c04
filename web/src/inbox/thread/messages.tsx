import { Loader, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { Bubble } from './bubble.tsx';
import { Consent } from './consent.tsx';
import type { Conversation } from '../conversation.ts';
import { DayLine } from './day-line.tsx';
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
  const ref = useKeepPlace(messages.at(-1)?.id, messages.length);
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
          <ol className={classes.bubbles}>{withDays(messages, conversation)}</ol>
        </div>
      )}
    </div>
  );
}

/** The messages with a line at the start of each day. */
function withDays(messages: readonly Message[], conversation: Conversation): ReactNode[] {
  let day = '';
  return messages.flatMap((message) => {
    const its = new Date(message.timestamp).toDateString();
    const line = its === day ? [] : [<DayLine key={its} value={message.timestamp} />];
    day = its;
    return [
      ...line,
      <Bubble key={message.id} message={message} name={conversation.contact.name} />,
      ...(message.consent
        ? [<Consent key={`${message.id} consent`} message={message} conversation={conversation} />]
        : []),
    ];
  });
}
