import { Code, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../ui/actions/copy-button.tsx';
import { DateTime } from '../ui/values/date-time.tsx';
import { SidePanel } from '../ui/dialog/dialog.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { Facts } from '../ui/values/facts.tsx';
import { TextLink } from '../ui/link.tsx';
import { JsonView } from '../ui/json-view.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Attempt, type DeliveryDetail, findDelivery } from './delivery.ts';
import { DeliveryState, useEventName } from './delivery-columns.tsx';
import { ReplayButton } from './replay-button.tsx';
import { Milliseconds } from './test-dialog.tsx';

const REFRESH_MS = 3_000;

type DeliveryPanelProps = { readonly id: string | null; readonly isRegistered: boolean; readonly onClose: () => void };

/** Side panel with one event: the request and the result of each attempt; null closes it. */
export function DeliveryPanel({ id, isRegistered, onClose }: DeliveryPanelProps) {
  const { t } = useTranslation('webhooks');
  const shown = useLast(id);
  return (
    <SidePanel opened={id !== null} onClose={onClose} title={t('panel.title')} size="xl">
      {shown !== null && <Detail id={shown} isRegistered={isRegistered} />}
    </SidePanel>
  );
}

function Detail({ id, isRegistered }: { readonly id: string; readonly isRegistered: boolean }) {
  const query = useQuery({
    queryKey: ['webhooks', 'delivery', id],
    queryFn: ({ signal }) => findDelivery(id, signal),
    refetchInterval: ({ state }) => (state.data?.status === 'PENDING' ? REFRESH_MS : false),
  });
  if (query.data === undefined && query.error !== null)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === undefined) return <TableSkeleton rows={6} />;
  return (
    <Stack gap="lg">
      <Summary delivery={query.data} />
      <Group>
        <ReplayButton delivery={query.data} isRegistered={isRegistered} isWide />
      </Group>
      <Attempts delivery={query.data} />
      <Sent delivery={query.data} />
    </Stack>
  );
}

type DetailProps = { readonly delivery: DeliveryDetail };

function Summary({ delivery }: DetailProps) {
  const { t } = useTranslation('webhooks');
  const eventName = useEventName();
  const { id, messageId, eventType, status, nextAttemptAt, createdAt } = delivery;
  return (
    <Facts
      facts={[
        { label: t('column.event'), value: eventName(delivery) },
        { label: t('column.status'), value: <DeliveryState state={status} /> },
        ...(status === 'PENDING' ? [{ label: t('panel.next'), value: <DateTime value={nextAttemptAt} /> }] : []),
        { label: t('column.createdAt'), value: <DateTime value={createdAt} show="exact" /> },
        { label: t('panel.id'), value: <Copied text={id} label={t('panel.copyId')} /> },
        {
          label: t('column.message'),
          value:
            eventType === 'INBOUND' ? (
              <Copied text={messageId} label={t('panel.copyMessage')} />
            ) : (
              <TextLink to={`/messages/${messageId}`} ff="monospace" className="foreign-text">
                {messageId}
              </TextLink>
            ),
        },
      ]}
    />
  );
}

const Copied = ({ text, label }: { readonly text: string; readonly label: string }) => (
  <Group gap={4} wrap="nowrap">
    <Code className="foreign-text">{text}</Code>
    <CopyButton text={text} label={label} />
  </Group>
);

const Part = ({ title, children }: { readonly title: string; readonly children: ReactNode }) => (
  <Stack gap="xs" component="section">
    <Title order={3} size="h5">
      {title}
    </Title>
    {children}
  </Stack>
);

function Attempts({ delivery: { log, failure } }: DetailProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Part title={t('panel.attempts')}>
      {log.length === 0 && (
        <Text size="sm" c="dimmed">
          {failure ?? t('panel.noAttempt')}
        </Text>
      )}
      {log.toReversed().map((attempt, i) => (
        <AttemptCard key={attempt.at} attempt={attempt} number={log.length - i} />
      ))}
    </Part>
  );
}

function AttemptCard({ attempt, number }: { readonly attempt: Attempt; readonly number: number }) {
  const { t } = useTranslation('webhooks');
  const { at, responseCode, durationMs, failure, answer } = attempt;
  return (
    <Paper p="sm">
      <Stack gap="xs">
        <Group justify="space-between" gap="xs">
          <Group gap="xs">
            <Text size="sm" fw={600}>
              {t('panel.attempt', { number })}
            </Text>
            <StatusBadge tone={failure === null ? 'good' : 'bad'}>
              {responseCode === null ? t('panel.noAnswer') : t('panel.answered', { code: responseCode })}
            </StatusBadge>
          </Group>
          <Text size="xs" c="dimmed">
            <DateTime value={at} show="exact" /> · <Milliseconds value={durationMs} />
          </Text>
        </Group>
        {responseCode === null && failure !== null && (
          <Text size="sm" className="foreign-text">
            {failure}
          </Text>
        )}
        {answer && <JsonView value={answer} label={t('panel.answer', { number })} maxHeight={180} />}
        {answer === '' && (
          <Text size="xs" c="dimmed">
            {t('test.noBody')}
          </Text>
        )}
      </Stack>
    </Paper>
  );
}

function Sent({ delivery: { request } }: DetailProps) {
  const { t } = useTranslation('webhooks');
  if (request === null) {
    return (
      <Part title={t('panel.sent')}>
        <Text size="sm" c="dimmed">
          {t('panel.notKnown')}
        </Text>
      </Part>
    );
  }
  const headers = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`);
  return (
    <Part title={t('panel.sent')}>
      <Text size="xs" c="dimmed">
        {t('panel.sentHint')}
      </Text>
      <Text size="sm" className="foreign-text" ff="monospace">
        {request.method} {request.url}
      </Text>
      <JsonView value={headers.join('\n')} label={t('panel.headers')} />
      <JsonView value={request.body} label={t('panel.body')} />
    </Part>
  );
}
