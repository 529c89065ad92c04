import { Anchor, Button, Code, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { RotateCw } from 'lucide-react';
import { type ReactNode, useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { CopyButton, GuardedButton, GuardedIcon } from '../ui/actions.tsx';
import type { Column } from '../ui/data-table.tsx';
import { Dialog, SidePanel } from '../ui/dialog.tsx';
import { useDialog } from '../ui/lazy-props.ts';
import { JsonView } from '../ui/json-view.tsx';
import { ErrorState, Muted, TableSkeleton, TextLink, useIsPhone, useLast } from '../ui/parts.tsx';
import { DateTime, Facts, Num, StatusBadge } from '../ui/values.tsx';
import { type Endpoint, ENDPOINTS, NEED } from './endpoints.ts';
import {
  type Attempt,
  type Delivery,
  type DeliveryDetail,
  ENDPOINT,
  findDelivery,
  type State,
  TONES,
} from './replay-dialog.tsx';

const REFRESH_MS = 3_000;

type DeliveryPanelProps = { readonly endpoint: string; readonly id: string | null; readonly onClose: () => void };

/** Side panel with one event: the request and the result of each attempt; null closes it. */
export function DeliveryPanel({ endpoint, id, onClose }: DeliveryPanelProps) {
  const { t } = useTranslation('webhooks');
  const shown = useLast(id);
  return (
    <SidePanel opened={id !== null} onClose={onClose} title={t('panel.title')} size="xl">
      {shown !== null && <Detail endpoint={endpoint} id={shown} />}
    </SidePanel>
  );
}

function Detail({ endpoint, id }: { readonly endpoint: string; readonly id: string }) {
  const query = useQuery({
    queryKey: ['webhooks', 'delivery', endpoint, id],
    queryFn: ({ signal }) => findDelivery(endpoint, id, signal),
    refetchInterval: ({ state }) => (state.data?.status === 'PENDING' ? REFRESH_MS : false),
  });
  if (query.data === undefined && query.error !== null)
    return <ErrorState error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === undefined) return <TableSkeleton rows={6} />;
  return (
    <Stack gap="lg">
      <Summary delivery={query.data} />
      <Group>
        <ReplayButton endpoint={endpoint} delivery={query.data} isWide />
      </Group>
      <Attempts delivery={query.data} />
      <Sent delivery={query.data} />
    </Stack>
  );
}

type DetailProps = { readonly delivery: DeliveryDetail };

function Summary({ delivery }: DetailProps) {
  const { t } = useTranslation('webhooks');
  const { id, messageId, eventType, status, nextAttemptAt, createdAt } = delivery;
  return (
    <Facts
      facts={[
        { label: t('column.event'), value: <Code>{eventType}</Code> },
        { label: t('column.status'), value: <DeliveryState state={status} /> },
        ...(status === 'PENDING' ? [{ label: t('panel.next'), value: <DateTime value={nextAttemptAt} /> }] : []),
        { label: t('column.createdAt'), value: <DateTime value={createdAt} show="exact" /> },
        { label: t('panel.id'), value: <Copied text={id} label={t('panel.copyId')} /> },
        ...(messageId === null
          ? []
          : [
              {
                label: t('column.message'),
                value:
                  eventType === 'message.received' ? (
                    <Copied text={messageId} label={t('panel.copyMessage')} />
                  ) : (
                    <TextLink to={`/messages/${messageId}`} ff="monospace" className="foreign-text">
                      {messageId}
                    </TextLink>
                  ),
              },
            ]),
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
      {log.length === 0 && <Muted>{failure ?? t('panel.noAttempt')}</Muted>}
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
        <Muted>{t('panel.notKnown')}</Muted>
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

/** The columns of the event log; `onOpen` shows one event in full. */
export function useDeliveryColumns(onOpen: (id: string) => void): readonly Column<Delivery>[] {
  const { t } = useTranslation('webhooks');
  return useMemo(
    () => [
      {
        id: 'event',
        header: t('column.event'),
        phone: 'title',
        cell: (delivery) => <EventName delivery={delivery} onOpen={onOpen} />,
      },
      { id: 'status', header: t('column.status'), cell: (delivery) => <Outcome delivery={delivery} /> },
      {
        id: 'responseCode',
        header: t('column.answer'),
        phone: 'none',
        align: 'right',
        cell: ({ responseCode }) => <span className="tabular">{responseCode ?? '–'}</span>,
      },
      {
        id: 'durationMs',
        header: t('column.duration'),
        phone: 'none',
        align: 'right',
        cell: ({ durationMs }) => <Milliseconds value={durationMs} />,
      },
      {
        id: 'attempts',
        header: t('column.attempts'),
        phone: 'none',
        align: 'right',
        cell: ({ attempts }) => <span className="tabular">{attempts}</span>,
      },
      {
        id: 'messageId',
        header: t('column.message'),
        hidden: true,
        cell: ({ messageId }) => <Code>{messageId ?? '–'}</Code>,
      },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t, onOpen],
  );
}

type EventNameProps = { readonly delivery: Delivery; readonly onOpen: (id: string) => void };

function EventName({ delivery: { id, eventType }, onOpen }: EventNameProps) {
  return (
    <Stack gap={0}>
      <Anchor component="button" type="button" size="sm" fw={600} ta="left" onClick={() => onOpen(id)}>
        {eventType}
      </Anchor>
      <Text size="xs" c="dimmed" ff="monospace" fw={400}>
        {id.slice(0, 8)}…{id.slice(-4)}
      </Text>
    </Stack>
  );
}

/** The state of an event, and its next attempt. */
function Outcome({ delivery: { status, nextAttemptAt, failure } }: { readonly delivery: Delivery }) {
  const { t } = useTranslation('webhooks');
  return (
    <Stack gap={2} align={useIsPhone() ? 'flex-end' : 'flex-start'}>
      <DeliveryState state={status} />
      {status === 'PENDING' && nextAttemptAt !== null && (
        <Group gap={4}>
          <Text size="xs" c="dimmed">
            {t('column.next')} <DateTime value={nextAttemptAt} />
          </Text>
        </Group>
      )}
      {status === 'PENDING' && nextAttemptAt === null && (
        <Text size="xs" c="dimmed">
          {t('column.behind')}
        </Text>
      )}
      {status === 'DEAD' && failure !== null && (
        <Text size="xs" c="dimmed" className="foreign-text" lineClamp={1}>
          {failure}
        </Text>
      )}
    </Stack>
  );
}

function DeliveryState({ state }: { readonly state: State }) {
  const { t } = useTranslation('webhooks');
  return <StatusBadge tone={TONES[state]}>{t(`deliveryState.${state}`)}</StatusBadge>;
}

const sendTest = (id: string) => ok(api.POST(`${ENDPOINTS}/{id}/test`, { params: { path: { id } } }));

/** Dialog for a sample event. */
export function TestDialog({ endpoint }: { readonly endpoint: Endpoint }) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog title={t('test.title')}>
      <Test endpoint={endpoint} />
    </Dialog>
  );
}

/** Sends a sample event when it opens and shows the endpoint's response. */
function Test({ endpoint: { id, url } }: { readonly endpoint: Endpoint }) {
  const { t } = useTranslation('webhooks');
  const { close } = useDialog();
  const { mutate, data, error, isPending } = useMutation({ mutationFn: sendTest });
  useEffect(() => mutate(id), [mutate, id]);
  return (
    <Stack>
      <Text size="sm" className="foreign-text">
        {t('test.text', { url })}
      </Text>
      {isPending && <Waiting />}
      {!isPending && error !== null && <ErrorState error={error} />}
      {!isPending && data && <TestOutcome outcome={data} />}
      <Group justify="flex-end">
        <Button variant="default" loading={isPending} onClick={() => mutate(id)}>
          {t('test.again')}
        </Button>
        <Button onClick={close}>{t('ui:close')}</Button>
      </Group>
    </Stack>
  );
}

function Waiting() {
  const { t } = useTranslation('webhooks');
  return (
    <Group gap="sm" role="status" mih={120} justify="center">
      <Loader size="sm" />
      <Text size="sm">{t('test.waiting')}</Text>
    </Group>
  );
}

function TestOutcome({ outcome }: { readonly outcome: Awaited<ReturnType<typeof sendTest>> }) {
  const { t } = useTranslation('webhooks');
  const { acknowledged, status, durationMs, error, answer } = outcome;
  return (
    <Stack gap="sm" role="status">
      <StatusBadge tone={acknowledged ? 'good' : 'bad'}>{t(acknowledged ? 'test.good' : 'test.bad')}</StatusBadge>
      <Facts
        facts={[
          { label: t('test.status'), value: status ?? error ?? '–' },
          { label: t('test.duration'), value: <Milliseconds value={durationMs} /> },
        ]}
      />
      {answer !== null && answer !== '' && <JsonView value={answer} label={t('test.answer')} maxHeight={200} />}
      {answer === '' && <Muted>{t('test.noBody')}</Muted>}
      {!acknowledged && <Text size="sm">{t('test.advice')}</Text>}
    </Stack>
  );
}

/** A response time in milliseconds. */
const Milliseconds = ({ value }: { readonly value: number | null }) => (
  <Num value={value} options={{ style: 'unit', unit: 'millisecond', unitDisplay: 'short' }} />
);

type ReplayButtonProps = {
  readonly endpoint: string;
  readonly delivery: Pick<Delivery, 'id' | 'eventType'>;
  /** True to show a button with text (in the panel), false for only an icon (in a row). */
  readonly isWide?: boolean;
};

/** Button that resends one event. */
export function ReplayButton({ endpoint, delivery: { id, eventType }, isWide = false }: ReplayButtonProps) {
  const { t } = useTranslation('webhooks');
  const replay = useAction({
    run: () => ok(api.POST(`${ENDPOINT}/deliveries/{id}/replay`, { params: { path: { endpoint, id } } })),
    refresh: [
      ['webhooks', 'deliveries'],
      ['webhooks', 'delivery', endpoint, id],
    ],
    done: t('replay.one.done'),
  });
  const may = { need: NEED, loading: replay.busy } as const;
  if (isWide) {
    return (
      <GuardedButton {...may} variant="default" leftSection={<RotateCw size={16} />} onClick={() => replay.run()}>
        {t('replay.one.open')}
      </GuardedButton>
    );
  }
  return (
    <GuardedIcon {...may} label={t('replay.one.label', { event: eventType })} onClick={() => replay.run()}>
      <RotateCw size={16} />
    </GuardedIcon>
  );
}
