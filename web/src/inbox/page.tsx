import { Badge } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { MessageSquarePlus, MessagesSquare } from 'lucide-react';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { useUrlState } from '../ui/url-state.ts';
import { Arrivals } from './arrivals.tsx';
import { ConversationPane } from './conversation-pane.tsx';
import { countUnread, FIELDS, NEED, type Search } from './conversation.ts';
import { createDrafts, DraftsContext } from './answer/drafts.ts';
import classes from './inbox.module.css';
import { ListPane } from './list/list-pane.tsx';
import { useKeys } from './use-keys.ts';

const NewConversation = lazy(() =>
  import('./answer/new-conversation.tsx').then((f) => ({ default: f.NewConversation })),
);

/** Wide enough for the contact details beside the conversation. */
const WIDE = '(min-width: 80em)';

/** The inbox: list, conversation and contact details; one at a time on a phone. */
export function Page() {
  const { t } = useTranslation('inbox');
  const [search, setSearch] = useUrlState(FIELDS);
  const [pollMs, setPollMs] = useState<number | false>(false);
  const [isNew, setNew] = useState(false);
  const [drafts] = useState(createDrafts);
  const unread = useUnread(pollMs);
  const isPhone = useIsPhone();
  const isWide = useMediaQuery(WIDE, undefined, { getInitialValueInEffect: false }) ?? false;
  const { ref, onKeyDown } = useKeys();
  const open = useOpen();
  const isReading = isPhone && search.chat !== '';
  const create = (
    <GuardedButton need={NEED} leftSection={<MessageSquarePlus size={16} />} onClick={() => setNew(true)}>
      {t('new.open')}
    </GuardedButton>
  );
  return (
    <DraftsContext value={drafts}>
      <Frame
        title={t('title')}
        badge={unread > 0 && <Badge>{t('unread', { count: unread })}</Badge>}
        actions={isPhone ? undefined : create}
      >
        <Arrivals chat={search.chat} onPoll={setPollMs} />
        <div ref={ref} onKeyDown={onKeyDown} className={classes.panes} data-wide={isWide}>
          {!isReading && (
            <ListPane
              search={search}
              onSearch={setSearch}
              pollMs={pollMs}
              create={create}
              onCreate={isPhone ? () => setNew(true) : undefined}
            />
          )}
          {search.chat !== '' ? (
            <ConversationPane key={search.chat} chatId={search.chat} pollMs={pollMs} isWide={isWide} />
          ) : (
            !isPhone && (
              <div className={classes.nothing}>
                <EmptyState icon={MessagesSquare} title={t('nothing.title')} text={t('nothing.text')} />
              </div>
            )
          )}
        </div>
        <Dialog opened={isNew} onClose={() => setNew(false)} title={t('new.title')}>
          <Suspense>
            <NewConversation
              onSent={(chatId) => {
                setNew(false);
                open(chatId);
              }}
            />
          </Suspense>
        </Dialog>
      </Frame>
    </DraftsContext>
  );
}

/** The number of unread conversations, also shown in the window title. */
function useUnread(pollMs: number | false): number {
  const { t } = useTranslation('inbox');
  const { data: unread = 0 } = useQuery({
    queryKey: ['inbox', 'unread'],
    queryFn: ({ signal }) => countUnread(signal),
    refetchInterval: pollMs,
  });
  useEffect(() => {
    document.title = `${unread > 0 ? `(${unread}) ` : ''}${t('title')} · Heliograph`;
  }, [unread, t]);
  return unread;
}

/** Opens a conversation as a new history entry, so that Back returns to the previous one. */
function useOpen(): (chat: string) => void {
  const navigate = useNavigate();
  return (chat) => void navigate({ to: '.', search: (before: Partial<Search>) => ({ ...before, chat }) });
}
