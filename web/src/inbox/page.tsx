import { ActionIcon, Group, Loader } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Bell, Keyboard, MessageSquarePlus, MessagesSquare } from 'lucide-react';
import { Suspense, use, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { unreadQuery } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { Hint } from '../ui/hint.tsx';
import { EmptyState, PageFrame, PageTabs, useIsPhone } from '../ui/parts.tsx';
import { useUrlState } from '../ui/url-state.ts';
import { FIELDS, NEED, type Search } from './conversation.ts';
import { createDrafts, DraftsContext } from './drafts.tsx';
import classes from './inbox.module.css';
import { ListPane } from './list-pane.tsx';
import { onKey, useKeys } from './use-keys.ts';

/** Loaded lazily: the list is usable before the thread, which is the larger half of the inbox. */
const ConversationPane = lazyPart(() =>
  import('./conversation-pane.tsx').then((file) => ({ default: file.ConversationPane })),
);
const Arrivals = lazyPart(() => import('./arrivals.tsx').then((f) => ({ default: f.Arrivals })));
const AvailabilitySwitch = lazyPart(() =>
  import('./availability.tsx').then((f) => ({ default: f.AvailabilitySwitch })),
);
const AlertsDialog = lazyPart(() => import('./dialogs.tsx').then((f) => ({ default: f.AlertsDialog })));
const KeysDialog = lazyPart(() => import('./dialogs.tsx').then((f) => ({ default: f.KeysDialog })));
const NewConversation = lazyPart(() => import('./new-conversation.tsx').then((f) => ({ default: f.NewConversation })));

/** Media query for windows wide enough for the contact details next to the conversation. */
const WIDE = '(min-width: 80em)';

/** The inbox: list, conversation and contact details; one at a time on a phone. */
export function Page() {
  const { t } = useTranslation('inbox');
  const [search, setSearch] = useUrlState(FIELDS);
  const [pollMs, setPollMs] = useState<number | false>(false);
  const { user, account } = useSession();
  const [drafts] = useState(() => createDrafts(`${user.id}:${account.id}`));
  useQuery({ ...unreadQuery, refetchInterval: pollMs });
  const tabs = use(PageTabs);
  const isPhone = useIsPhone();
  const isWide = useMediaQuery(WIDE, undefined, { getInitialValueInEffect: false }) ?? false;
  const ref = useKeys(() => openDialog(<KeysDialog />));
  const open = useOpen();
  const start = (): void => openDialog(<NewConversation onSent={open} />);
  const isReading = isPhone && search.chat !== '';
  const create = (
    <GuardedButton need={NEED} leftSection={<MessageSquarePlus size={16} />} {...onKey('c')} onClick={start}>
      {t('new.open')}
    </GuardedButton>
  );
  return (
    <DraftsContext value={drafts}>
      <PageTabs value={isReading ? null : tabs}>
        <PageFrame
          compact
          title={t('title')}
          actions={
            !isReading && (
              <>
                <Suspense>
                  <AvailabilitySwitch />
                </Suspense>
                <Tools />
                {!isPhone && create}
              </>
            )
          }
        >
          <Suspense>
            <Arrivals chat={search.chat} onPoll={setPollMs} onOpen={open} />
          </Suspense>
          <div ref={ref} className={classes.panes} data-wide={isWide} data-reading={isReading}>
            {!isReading && (
              <ListPane
                search={search}
                onSearch={setSearch}
                pollMs={pollMs}
                create={create}
                onCreate={isPhone ? start : undefined}
              />
            )}
            {search.chat !== '' ? (
              <Suspense key={search.chat} fallback={<Waiting />}>
                <ConversationPane chatId={search.chat} pollMs={pollMs} isWide={isWide} />
              </Suspense>
            ) : (
              !isPhone && (
                <div className={classes.nothing}>
                  <EmptyState icon={MessagesSquare} title={t('nothing.title')} text={t('nothing.text')} />
                </div>
              )
            )}
          </div>
        </PageFrame>
      </PageTabs>
    </DraftsContext>
  );
}

/** Holds the place of the conversation, as it does itself while it waits for the messages. */
function Waiting() {
  const { t } = useTranslation('inbox');
  return (
    <div className={classes.nothing}>
      <Loader aria-label={t('ui:loading')} />
    </div>
  );
}

/** Shortcuts and notifications of the inbox. */
function Tools() {
  const { t } = useTranslation('inbox');
  return (
    <Group gap={4}>
      <Hint label={t('keys.title')}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('keys.title')}
          onClick={() => openDialog(<KeysDialog />)}
        >
          <Keyboard size={18} />
        </ActionIcon>
      </Hint>
      <Hint label={t('alerts.title')}>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="lg"
          aria-label={t('alerts.title')}
          onClick={() => openDialog(<AlertsDialog />)}
        >
          <Bell size={18} />
        </ActionIcon>
      </Hint>
    </Group>
  );
}

/** Opens a conversation as a new history entry, so that Back returns to the previous one. */
function useOpen(): (chat: string) => void {
  const navigate = useNavigate();
  return (chat) => void navigate({ to: '.', search: (before: Partial<Search>) => ({ ...before, chat }) });
}
