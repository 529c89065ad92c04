import { Loader } from '@mantine/core';
import { useDocumentVisibility } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { MessageCircleOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../api/errors.ts';
import { refresh } from '../api/refresh.ts';
import { useSession } from '../api/session.ts';
import { SidePanel } from '../ui/dialog/dialog.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { Composer } from './answer/composer.tsx';
import { ContactPane } from './contact-pane.tsx';
import { ConversationHeader } from './conversation-header.tsx';
import { type Conversation, findConversation, NEED, readConversation } from './conversation.ts';
import { useReportPresence } from './presence/presence.ts';
import classes from './inbox.module.css';
import { Messages } from './thread/messages.tsx';

type ConversationPaneProps = {
  readonly chatId: string;
  readonly pollMs: number | false;
  /** True if the contact details are shown next to the conversation; otherwise a button opens them. */
  readonly isWide: boolean;
};

/** One conversation with the details of the person. */
export function ConversationPane({ chatId, pollMs, isWide }: ConversationPaneProps) {
  const { t } = useTranslation('inbox');
  const [isPersonOpen, setPersonOpen] = useState(false);
  const conversation = useQuery({
    queryKey: ['inbox', 'one', chatId],
    queryFn: ({ signal }) => findConversation(chatId, signal),
    refetchInterval: pollMs,
  });
  useMarkAsRead(conversation.data);
  useReportPresence(chatId);
  if (conversation.isError)
    return (
      <div className={classes.nothing}>
        {isUnknown(conversation.error) ? (
          <EmptyState icon={MessageCircleOff} title={t('gone.title')} text={t('gone.text')}>
            <ButtonLink to="/inbox">{t('showAll')}</ButtonLink>
          </EmptyState>
        ) : (
          <ErrorState error={conversation.error} onRetry={() => void conversation.refetch()} />
        )}
      </div>
    );
  if (!conversation.data)
    return (
      <div className={classes.nothing}>
        <Loader aria-label={t('ui:loading')} />
      </div>
    );
  const { contact } = conversation.data;
  return (
    <>
      <section className={classes.conversation} aria-label={t('conversationWith', { name: contact.name })}>
        <ConversationHeader
          conversation={conversation.data}
          onPerson={isWide ? undefined : () => setPersonOpen(true)}
        />
        <Messages conversation={conversation.data} pollMs={pollMs} />
        <Composer conversation={conversation.data} />
      </section>
      {isWide ? (
        <aside className={classes.person} aria-label={t('person.title')}>
          <ContactPane conversation={conversation.data} />
        </aside>
      ) : (
        <SidePanel opened={isPersonOpen} onClose={() => setPersonOpen(false)} title={t('person.title')}>
          <ContactPane conversation={conversation.data} />
        </SidePanel>
      )}
    </>
  );
}

/** Returns true if the conversation does not exist: a malformed ID gets a 400, an unknown one a 404. */
const isUnknown = (error: unknown): boolean =>
  error instanceof ApiError && (error.status === 404 || error.status === 400);

/** Marks the conversation as read while its window is visible; viewers change nothing. */
function useMarkAsRead(conversation: Conversation | undefined): void {
  const queries = useQueryClient();
  const isVisible = useDocumentVisibility() === 'visible';
  const mayWrite = useSession().may(NEED);
  const { mutate } = useMutation({
    mutationFn: readConversation,
    onSuccess: () => refresh(queries, ['inbox', 'unread']),
  });
  const chatId = conversation?.chatId;
  const unread = conversation?.unreadCount ?? 0;
  useEffect(() => {
    if (chatId !== undefined && unread > 0 && isVisible && mayWrite) mutate(chatId);
  }, [chatId, unread, isVisible, mayWrite, mutate]);
}
