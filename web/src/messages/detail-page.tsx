import { Alert, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { TFunction } from 'i18next';
import { Ban, Inbox, RotateCcw, SearchX, User } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { CopyButton, GuardedButton } from '../ui/actions.tsx';
import { type Format, useFormat } from '../ui/format.ts';
import { Hint } from '../ui/hint.tsx';
import { MessageText } from '../ui/message.tsx';
import {
  ButtonLink,
  EmptyState,
  ErrorState,
  HelpLink,
  PageFrame,
  Section,
  TableSkeleton,
  TextLink,
} from '../ui/parts.tsx';
import { ChannelBadge, DateTime, type Fact, Facts, MessageStatus, Money, Num, type Tone } from '../ui/values.tsx';
import { adviceOf } from '../ui/advice.ts';
import { CampaignLink, shownStatus, useCancel } from './columns.tsx';
import { contactQuery, isPending, type Message, messageQuery, type TimelineEvent, timelineQuery } from './message.ts';
import classes from './timeline-list.module.css';

/** The timeline in chronological order: a sentence per event, with the carrier's response below it where it is new. */
function TimelineList({ events }: { readonly events: readonly TimelineEvent[] }) {
  const { t } = useTranslation('messages');
  const start = Date.parse(events[0]?.at ?? '');
  const isNew = (index: number, name: 'text' | 'code'): boolean =>
    events.findIndex((event) => event[name] === events[index]?.[name]) === index;
  return (
    <ol className={classes.steps} aria-label={t('timeline.title')}>
      {events.map((event, index) => (
        // Events have no ID; new ones are only added at the end or between two instants.
        <li key={`${event.at} ${event.kind} ${index}`} className={classes.step} data-tone={toneOf(event)}>
          <Step
            event={{
              ...event,
              text: isNew(index, 'text') ? event.text : null,
              code: isNew(index, 'code') ? event.code : undefined,
            }}
            sinceMs={Date.parse(event.at) - start}
          />
        </li>
      ))}
    </ol>
  );
}

type StepEvent = Omit<TimelineEvent, 'code'> & { readonly code: string | undefined };

/** One event, with the time since the message was accepted: gaps are what people look for. */
function Step({ event, sinceMs }: { readonly event: StepEvent; readonly sinceMs: number }) {
  const { t } = useTranslation('messages');
  const format = useFormat();
  const { at, text, connection, messageId, channel, status } = event;
  return (
    <Stack gap={2}>
      <Group justify="space-between" gap="xs" align="baseline">
        <Group gap="xs">
          <Text size="sm">{sentence(t, event)}</Text>
          {status !== undefined && <MessageStatus status={status} />}
        </Group>
        <Hint label={() => format.exact(new Date(at))}>
          <Text size="xs" c="dimmed" className="tabular" component="time" dateTime={at} tabIndex={0}>
            +{format.elapsed(sinceMs)}
          </Text>
        </Hint>
      </Group>
      {text !== null && <MessageText text={text} />}
      {connection !== null && (
        <Text size="xs" c="dimmed">
          {t('timeline.connection', { name: connection })}
        </Text>
      )}
      {messageId !== undefined && (
        <TextLink to={`/messages/${messageId}`}>{t('timeline.other', { channel: channel ?? '' })}</TextLink>
      )}
      <Codes event={event} format={format} />
    </Stack>
  );
}

/** Codes and IDs as sent by the carrier. */
function Codes({ event, format }: { readonly event: StepEvent; readonly format: Format }) {
  const { t } = useTranslation('messages');
  const { code, carrierIds = [], part, amount, currency, doneAt } = event;
  const facts = [
    amount !== undefined && currency !== undefined && format.money(amount, currency),
    part !== undefined && t('timeline.part', { part }),
    doneAt !== undefined && t('timeline.doneAt', { time: format.exact(new Date(doneAt)) }),
  ].filter((fact) => fact !== false);
  const codes = [...(code === undefined ? [] : [code]), ...carrierIds];
  if (facts.length + codes.length === 0) return null;
  return (
    <Group gap="xs">
      {facts.map((fact) => (
        <Text key={fact} size="xs" c="dimmed">
          {fact}
        </Text>
      ))}
      {codes.map((each) => (
        <Code key={each} style={{ overflowWrap: 'anywhere' }}>
          {each}
        </Code>
      ))}
    </Group>
  );
}

/** The sentence for an event; attempts and revocations include their result. */
const sentence = (t: TFunction<'messages'>, { kind, outcome, attempt = 1 }: StepEvent): string =>
  outcome === undefined
    ? t(`timeline.kind.${kind}`)
    : t(`timeline.outcome.${kind === 'REVOKE' ? 'REVOKE' : 'ATTEMPT'}.${outcome}`, { attempt });

const BAD = ['UNDELIVERABLE', 'EXPIRED', 'REJECTED', 'ERROR', 'DISABLED', 'UNSUPPORTED', 'CONVERSATION_CLOSED'];

function toneOf({ outcome, status }: TimelineEvent): Tone {
  if (outcome === 'UNKNOWN' || outcome === 'RETRY') return 'warning';
  if (outcome === 'REFUSED' || (status !== undefined && BAD.includes(status))) return 'bad';
  return outcome === 'ACCEPTED' || status === 'DELIVERED' ? 'good' : 'neutral';
}

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
    <PageFrame title={t('one.title')} trail={trail}>
      {query.error && <ErrorState error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && <TableSkeleton rows={6} />}
      {query.data === null && (
        <EmptyState icon={SearchX} title={t('one.missing')} text={t('one.missingText')}>
          <ButtonLink to="/messages" variant="default">
            {t('one.back')}
          </ButtonLink>
        </EmptyState>
      )}
    </PageFrame>
  );
}

function Explained({ message }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  const cancelMessage = useCancel();
  const { channel, destination, deliveryStatus } = message;
  const timeline = useQuery({
    ...timelineQuery(message),
    placeholderData: keepPreviousData,
    refetchInterval: isPending(deliveryStatus) ? REFRESH_MS : false,
  });
  const events = timeline.data?.events ?? [];
  const cancel = deliveryStatus === 'ACCEPTED' && (
    <GuardedButton
      need={{ scope: channel }}
      variant="default"
      leftSection={<Ban size={16} />}
      onClick={() => cancelMessage(message)}
    >
      {t('cancel.open')}
    </GuardedButton>
  );
  return (
    <PageFrame
      title={t('one.to', { destination })}
      badge={<MessageStatus status={shownStatus(message)} />}
      trail={[{ label: t('title'), to: '/messages' }]}
      actions={
        <>
          <Person number={destination} />
          {cancel}
          {BAD.includes(deliveryStatus) && <Again message={message} />}
        </>
      }
    >
      {timeline.data && <Outcome message={message} events={events} />}
      <MessageFacts message={message} endedAt={events.find(({ kind }) => kind === 'FINAL')?.at ?? null} />
      <Section title={t('timeline.title')} description={t('timeline.description')}>
        {timeline.data ? (
          <TimelineList events={events} />
        ) : timeline.error ? (
          <ErrorState error={timeline.error} onRetry={() => void timeline.refetch()} />
        ) : (
          <TableSkeleton rows={5} />
        )}
      </Section>
    </PageFrame>
  );
}

/** The links to the contact and the conversation with a number, as far as the user may see them. */
function Person({ number }: { readonly number: string }) {
  const { t } = useTranslation('messages');
  const { may } = useSession();
  const { data: contact } = useQuery({ ...contactQuery(number), enabled: may({ scope: 'contacts' }) });
  return (
    <>
      {contact && (
        <ButtonLink to={`/contacts/${contact.id}`} variant="default" leftSection={<User size={16} />}>
          <bdi>{contact.name || t('one.contact')}</bdi>
        </ButtonLink>
      )}
      {may({ scope: 'inbox' }) && (
        <ButtonLink to="/inbox" search={{ q: number }} variant="default" leftSection={<Inbox size={16} />}>
          {t('one.conversation')}
        </ButtonLink>
      )}
    </>
  );
}

/** Opens the form with this message; a template has to be chosen again. */
function Again({ message: { channel, destination, text } }: { readonly message: Message }) {
  const { t } = useTranslation('messages');
  if (!useSession().may({ scope: channel, write: true })) return null;
  return (
    <ButtonLink to="/send" search={{ channel, to: destination, text }} leftSection={<RotateCcw size={16} />}>
      {t('one.again')}
    </ButtonLink>
  );
}

type OutcomeProps = { readonly message: Message; readonly events: readonly TimelineEvent[] };

/** What became of the message, in a sentence for a person, with what to do and what it cost. */
function Outcome({ message, events }: OutcomeProps) {
  const { t } = useTranslation('messages');
  const format = useFormat();
  const { channel, deliveryStatus: status, errorCode, acceptedAt } = message;
  const final = events.find(({ kind }) => kind === 'FINAL');
  const credit = events.find(({ kind, amount }) => kind === 'CREDIT' && amount !== undefined);
  const elapsed = format.elapsed(Date.parse(final?.at ?? acceptedAt) - Date.parse(acceptedAt));
  const wasTaken = events.some(({ outcome }) => outcome === 'ACCEPTED');
  const isBad = BAD.includes(status);
  const words = isBad
    ? t(`failed.${adviceOf({ channel, status, code: errorCode ?? '' })}`)
    : t(`outcome.${isPending(status) && wasTaken ? 'TAKEN' : status}`, { elapsed, defaultValue: '' });
  const cost = isBad && credit?.text === 'returned' ? t('outcome.free') : '';
  if (words === '') return null;
  return (
    <Alert color={isBad ? 'red' : status === 'DELIVERED' ? 'green' : 'gray'} py="sm">
      {words} {cost} {isBad && <HelpLink help="message-states#message-states" />}
    </Alert>
  );
}

type FactsProps = { readonly message: Message; readonly endedAt: string | null };

/** The content of a message and its delivery details. */
function MessageFacts({ message, endedAt }: FactsProps) {
  const { t } = useTranslation('messages');
  return (
    <SimpleGrid cols={{ base: 1, md: 2 }}>
      <Section title={t('one.content')}>
        <Stack gap="md">
          <MessageText text={message.text === '' ? t('noText') : message.text} />
          <Facts facts={useContentFacts(message)} />
        </Stack>
      </Section>
      <Section title={t('one.delivery')}>
        <Facts facts={useDeliveryFacts(message, endedAt)} />
      </Section>
    </SimpleGrid>
  );
}

function useContentFacts({
  channel,
  sender,
  source,
  purpose,
  simulation,
  campaignId,
  ...rest
}: Message): readonly Fact[] {
  const { parts, price } = rest;
  const { t } = useTranslation('messages');
  const { currency } = useSession().account;
  return [
    { label: t('column.channel'), value: <ChannelBadge channel={channel} /> },
    { label: t('column.sender'), value: sender === '' ? '–' : sender },
    {
      label: t('column.source'),
      value: campaignId === null ? t(simulation ? 'simulated' : `source.${source}`) : <CampaignLink id={campaignId} />,
    },
    ...(purpose === null ? [] : [{ label: t('ui:purpose.label'), value: t(`ui:purpose.${purpose}`) }]),
    { label: t('column.parts'), value: <Num value={parts} /> },
    { label: t('column.price'), value: <Money amount={price} currency={currency} isPrice /> },
  ];
}

function useDeliveryFacts(message: Message, endedAt: string | null): readonly Fact[] {
  const { t } = useTranslation('messages');
  const { acceptedAt, deliveryDate, readAt, errorCode, errorMessage, possibleDuplicate } = message;
  const facts: Fact[] = [
    { label: t('column.acceptedAt'), value: <DateTime value={acceptedAt} show="seconds" /> },
    { label: t('one.deliveryDate'), value: <DateTime value={deliveryDate ?? endedAt} show="seconds" /> },
  ];
  if (readAt !== null) facts.push({ label: t('one.readAt'), value: <DateTime value={readAt} show="seconds" /> });
  const response = [errorCode, errorMessage].filter((word) => word !== null).join(' · ');
  if (response !== '') facts.push({ label: t('one.carrierWords'), value: <MessageText text={response} /> });
  if (possibleDuplicate) facts.push({ label: t('one.duplicate'), value: t('one.duplicateText') });
  return [...facts, ...useIdFacts(message)];
}

function useIdFacts({ messageId, customerMessageId }: Message): readonly Fact[] {
  const { t } = useTranslation('messages');
  const ids = [{ label: t('one.messageId'), id: messageId }];
  if (customerMessageId !== null) ids.push({ label: t('column.customerMessageId'), id: customerMessageId });
  return ids.map(({ label, id }) => ({
    label,
    value: (
      <Group gap={4} wrap="nowrap">
        <Code style={{ overflowWrap: 'anywhere' }}>{id}</Code>
        <CopyButton text={id} label={t('one.copy', { what: label })} />
      </Group>
    ),
  }));
}
