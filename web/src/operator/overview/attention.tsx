import { Group, Stack, Text } from '@mantine/core';
import { CircleCheckBig } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge, type Tone } from '../../ui/values/status-badge.tsx';
import classes from '../shared/lines.module.css';
import { useServerText } from '../shared/server-text.ts';
import { Waiting } from '../shared/waiting.tsx';
import type { Attention } from './overview.ts';

const TONES: Readonly<Record<Attention['severity'], Tone>> = { error: 'bad', warning: 'warning', info: 'neutral' };

type Destination = { readonly to: string; readonly search?: Readonly<Record<string, string>> };

/** The page where the item is resolved; null if there is none. */
function destinationOf({ kind, subject, subjectId }: Attention): Destination | null {
  if (kind === 'sending_paused') return null;
  if (kind === 'no_worker' || kind === 'worker_missing') return { to: '/operator/queues' };
  if (kind === 'unknown_outcomes') return { to: '/operator/unknowns' };
  if (kind === 'receipts_unmatched') return { to: '/operator/health', search: { tab: 'receipts' } };
  if (kind === 'missed_schedules') return { to: '/operator/queues' };
  if (kind === 'lookups_used_up') return { to: '/operator/routes' };
  if (kind === 'sold_under_cost') return { to: '/operator/prices', search: { tab: 'margins' } };
  if (kind === 'disk_low' || kind === 'certificate_expiring')
    return { to: '/operator/health', search: { tab: 'doctor' } };
  if (kind === 'agents_requested') return { to: '/operator/senders' };
  if (kind.startsWith('webhook_') || kind === 'low_credit' || kind === 'token_expiring')
    return { to: `/operator/accounts/${subjectId}` };
  return subject === null ? null : { to: `/operator/connections/${encodeURIComponent(subject)}` };
}

/** Items of all accounts that need the operator's attention, most severe first. */
export function AttentionList({ attention }: { readonly attention: readonly Attention[] }) {
  const { t } = useTranslation('operator');
  const shown = attention.filter(({ kind }) => kind !== 'sending_paused');
  return (
    <Section title={t('attention.title')}>
      {shown.length === 0 && (
        <Group gap="sm">
          <CircleCheckBig size={18} color="var(--mantine-color-green-text)" aria-hidden="true" />
          <Text size="sm">{t('attention.none')}</Text>
        </Group>
      )}
      {shown.length > 0 && (
        <ul className={classes.list} aria-label={t('attention.title')}>
          {shown.map((each) => (
            <li key={`${each.kind} ${each.subjectId ?? each.subject}`} className={classes.item}>
              <Line attention={each} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/** Returns true if the item shows the number of waiting messages. The text of a stuck queue contains it. */
const isWaiting = ({ kind, count, accounts }: Attention): boolean =>
  kind !== 'queue_stuck' && accounts !== null && accounts > 0 && (count ?? 0) > 0;

function Line({ attention }: { readonly attention: Attention }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const { kind, severity, count, accounts, compared, subject, since, detail } = attention;
  // A paused connection is a problem where nothing else takes its messages.
  const text = kind === 'connection_paused' && severity === 'error' ? 'connection_pausedOnly' : kind;
  const way = destinationOf(attention);
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap" align="flex-start">
      <Group gap="sm" align="flex-start" style={{ minWidth: 0, flex: 1 }}>
        <StatusBadge tone={TONES[severity]}>{t(`attention.severity.${severity}`)}</StatusBadge>
        <Stack gap={2} style={{ minWidth: 0, flex: '1 1 240px' }}>
          <Text size="sm">
            {t(`attention.kind.${text}`, { count: count ?? 0, subject, compared })}{' '}
            {isWaiting(attention) && <Waiting count={count ?? 0} accounts={accounts ?? 0} />}
          </Text>
          {detail !== null && (
            <Text size="xs" c="dimmed" className="foreign-text">
              {detail}
            </Text>
          )}
          {since !== null && (
            <Text size="xs" c="dimmed" component="div">
              <DateTime value={since} />
            </Text>
          )}
        </Stack>
      </Group>
      {way !== null && (
        <TextLink
          to={way.to}
          {...(way.search && { search: way.search })}
          aria-label={t('attention.seeWhat', { what: subject ?? serverText(`attention.short.${kind}`, kind) })}
        >
          {t('attention.see')}
        </TextLink>
      )}
    </Group>
  );
}
