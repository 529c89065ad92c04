import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { Ban, SearchX } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { ButtonLink } from '../ui/link.tsx';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { Section } from '../ui/section.tsx';
import { MessageStatus } from '../ui/values/statuses.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { CancelDialog } from './cancel-dialog.tsx';
import { shownStatus } from './columns.tsx';
import { isPending, type Message, messageQuery, timelineQuery } from './message.ts';
import { MessageFacts } from './message-facts.tsx';
import { TimelineList } from './timeline-list.tsx';

/** Poll interval while the message has no final status. */
const REFRESH_MS = 2_000;

/** The page of one message with its timeline. */
export function Page() {
  const { t } = useTranslation('messages');
  const { id = '' } = useParams({ strict: false });
  const query = useQuery({
    ...messageQuery(id),
    refetchInterval: ({ state }) => (state.data && isPending(state.data.deliveryStatus) ? REFRESH_MS : false),
  });
  const trail = [{ label: t('title'), to: '/messages' }];
  if (query.data) return <Explained message={query.data} />;
  return (
    <Frame title={t('one.title')} trail={trail}>
      {query.error && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <TableSkeleton rows={6} />}
      {query.data === null && (
        <EmptyState icon={SearchX} title={t('one.missing')} text={t('one.missingText')}>
          <ButtonLink to="/messages" variant="default">
            {t('one.back')}
          </ButtonLink>
        </EmptyState>
      )}
    </Frame>
  );
}

function Explained({ message }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  const [isCancelling, setIsCancelling] = useState(false);
  const { channel, destination, deliveryStatus } = message;
  const cancel = deliveryStatus === 'ACCEPTED' && (
    <GuardedButton
      need={{ scope: channel }}
      variant="default"
      leftSection={<Ban size={16} />}
      onClick={() => setIsCancelling(true)}
    >
      {t('cancel.open')}
    </GuardedButton>
  );
  return (
    <Frame
      title={t('one.to', { destination })}
      badge={<MessageStatus status={shownStatus(message)} />}
      trail={[{ label: t('title'), to: '/messages' }]}
      actions={cancel}
    >
      <MessageFacts message={message} />
      <Section title={t('timeline.title')} description={t('timeline.description')}>
        <Timeline key={message.messageId} message={message} />
      </Section>
      <CancelDialog message={message} opened={isCancelling} onClose={() => setIsCancelling(false)} />
    </Frame>
  );
}

function Timeline({ message }: { readonly message: Message }) {
  const { data, error, refetch } = useQuery({
    ...timelineQuery(message),
    placeholderData: keepPreviousData,
    refetchInterval: isPending(message.deliveryStatus) ? REFRESH_MS : false,
  });
  if (data) return <TimelineList events={data.events} />;
  return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={5} />;
}
