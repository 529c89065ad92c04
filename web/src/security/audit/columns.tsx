import { Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { useChanges } from './changes.ts';
import type { Entry } from './entry.ts';
import { Subject } from './subject.tsx';
import { useAuditText } from './audit-text.ts';

export function useEntryColumns(): readonly Column<Entry>[] {
  const { t } = useTranslation('security');
  return useMemo(
    () => [
      { id: 'action', header: t('audit.what'), phone: 'title', cell: (entry) => <What entry={entry} /> },
      { id: 'subject', header: t('audit.subjectOf'), cell: ({ subject }) => <Subject subject={subject} /> },
      { id: 'actor', header: t('audit.who'), cell: ({ actor }) => <Who actor={actor} /> },
      { id: 'at', header: t('audit.when'), cell: ({ at }) => <DateTime value={at} /> },
    ],
    [t],
  );
}

const MAX_SHOWN = 2;

/** The action, with the first changes. */
function What({ entry: { action, detail } }: { readonly entry: Entry }) {
  const words = useAuditText();
  const lines = useChanges()(detail)
    .filter(({ value }) => value !== '–')
    .slice(0, MAX_SHOWN);
  return (
    <Stack gap={2}>
      <Text size="sm" fw={600}>
        {words.action(action)}
      </Text>
      {lines.length > 0 && (
        <Text size="xs" c="dimmed" fw={400} className="foreign-text" lineClamp={1} maw="48ch">
          {lines.map(({ label, value }) => `${label}: ${value}`).join(' · ')}
        </Text>
      )}
    </Stack>
  );
}

/** Author of a change: a user, an API key with its creator, a gateway operator, or the system. */
export function Who({ actor: { kind, keyId, username } }: Pick<Entry, 'actor'>) {
  const { t } = useTranslation('security');
  if (kind === 'system') return t('audit.kind.system');
  if (kind === 'user') return <bdi>{username ?? '–'}</bdi>;
  return (
    <Stack gap={2}>
      <span>{kind === 'key' ? t('audit.kind.key', { id: keyId }) : t('audit.kind.operator')}</span>
      {username !== null && (
        <Text size="xs" c="dimmed">
          <bdi>{username}</bdi>
        </Text>
      )}
    </Stack>
  );
}
