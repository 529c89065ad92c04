import { Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { DateTime } from '../ui/values/date-time.tsx';
import { TextLink } from '../ui/link.tsx';
import { Section } from '../ui/section.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import type { Attention } from './overview.ts';

const TONES = { error: 'bad', warning: 'warning', info: 'neutral' } as const;

/** The page where each item is resolved. Connections, routes and unknown outcomes belong to the operator. */
const PLACES: Readonly<Record<Attention['kind'], (item: Attention) => string>> = {
  carrier_down: () => '/operator/connections',
  carrier_paused: () => '/operator/connections',
  sending_paused: () => '/operator',
  unknown_outcomes: () => '/operator/unknowns',
  webhook_failing: () => '/webhooks',
  webhook_disabled: () => '/webhooks',
  low_credit: () => '/account',
  campaign_failed: ({ subjectId }) => `/campaigns/${subjectId}`,
  campaign_paused: ({ subjectId }) => `/campaigns/${subjectId}`,
  import_failed: () => '/contacts/import',
  export_failed: () => '/exports',
  social_disconnected: () => '/social',
  template_rejected: () => '/account',
};

/** Items that need attention, most severe first; empty if there are none. */
export function NeedsAttention({ items }: { readonly items: readonly Attention[] }) {
  const { t } = useTranslation('overview');
  if (items.length === 0) return null;
  return (
    <Section title={t('attention.title')}>
      <Stack component="ul" gap="md" m={0} p={0} style={{ listStyle: 'none' }}>
        {items.map((item) => (
          <Item key={`${item.kind} ${item.subjectId ?? item.subject ?? ''}`} item={item} />
        ))}
      </Stack>
    </Section>
  );
}

function Item({ item }: { readonly item: Attention }) {
  const { t } = useTranslation('overview');
  const { isOperator } = useSession();
  const { kind, severity, count, subject, since, detail } = item;
  const place = PLACES[kind](item);
  const mayGo = isOperator || !place.startsWith('/operator');
  return (
    <li>
      <Group align="flex-start" gap="sm" wrap="nowrap">
        <StatusBadge tone={TONES[severity]}>{t(`attention.severity.${severity}`)}</StatusBadge>
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Text size="sm" fw={600} className="foreign-text">
            {t(`attention.kind.${kind}`, { count: count ?? 0, subject: subject ?? '' })}
          </Text>
          {detail !== null && (
            <Text size="sm" className="foreign-text">
              {detail}
            </Text>
          )}
          <Group gap="xs">
            {since !== null && (
              <Text size="sm" c="dimmed">
                <DateTime value={since} />
              </Text>
            )}
            {mayGo ? <TextLink to={place}>{t(`attention.go.${kind}`)}</TextLink> : <AskOperator />}
          </Group>
        </Stack>
      </Group>
    </li>
  );
}

function AskOperator() {
  const { t } = useTranslation('overview');
  return (
    <Text size="sm" c="dimmed">
      {t('attention.askOperator')}
    </Text>
  );
}
