import { Code, Group, Stack, Text } from '@mantine/core';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../ui/values/date-time.tsx';
import { type Format, useFormat } from '../ui/values/format.ts';
import { TextLink } from '../ui/link.tsx';
import { MessageText } from '../ui/message/message-text.tsx';
import type { Tone } from '../ui/values/status-badge.tsx';
import { MessageStatus } from '../ui/values/statuses.tsx';
import type { TimelineEvent } from './message.ts';
import classes from './timeline-list.module.css';

/** The timeline in chronological order: a sentence per event, with the carrier's response below it. */
export function TimelineList({ events }: { readonly events: readonly TimelineEvent[] }) {
  const { t } = useTranslation('messages');
  return (
    <ol className={classes.steps} aria-label={t('timeline.title')}>
      {events.map((event, index) => (
        // Events have no ID; new ones are only added at the end or between two instants.
        <li key={`${event.at} ${event.kind} ${index}`} className={classes.step} data-tone={toneOf(event)}>
          <Step event={event} />
        </li>
      ))}
    </ol>
  );
}

function Step({ event }: { readonly event: TimelineEvent }) {
  const { t } = useTranslation('messages');
  const format = useFormat();
  const { at, text, connection, messageId, channel, status } = event;
  return (
    <Stack gap={2}>
      <Group justify="space-between" gap="xs" align="baseline">
        <Group gap="xs">
          <Text size="sm" fw={600}>
            {sentence(t, event)}
          </Text>
          {status !== undefined && <MessageStatus status={status} />}
        </Group>
        <Text size="xs" c="dimmed">
          <DateTime value={at} show="exact" />
        </Text>
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
function Codes({ event, format }: { readonly event: TimelineEvent; readonly format: Format }) {
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
const sentence = (t: TFunction<'messages'>, { kind, outcome, attempt = 1 }: TimelineEvent): string =>
  outcome === undefined
    ? t(`timeline.kind.${kind}`)
    : t(`timeline.outcome.${kind === 'REVOKE' ? 'REVOKE' : 'ATTEMPT'}.${outcome}`, { attempt });

const BAD = ['UNDELIVERABLE', 'EXPIRED', 'REJECTED', 'ERROR', 'DISABLED', 'UNSUPPORTED', 'CONVERSATION_CLOSED'];

function toneOf({ outcome, status }: TimelineEvent): Tone {
  if (outcome === 'UNKNOWN' || outcome === 'RETRY') return 'warning';
  if (outcome === 'REFUSED' || (status !== undefined && BAD.includes(status))) return 'bad';
  return outcome === 'ACCEPTED' || status === 'DELIVERED' ? 'good' : 'neutral';
}
