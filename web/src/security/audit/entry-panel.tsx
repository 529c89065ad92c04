import { Stack, Text, Title } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { SidePanel } from '../../ui/dialog/dialog.tsx';
import { Facts } from '../../ui/values/facts.tsx';
import { useLast } from '../../ui/use-last.ts';
import { useChanges } from './changes.ts';
import { Who } from './columns.tsx';
import type { Entry } from './entry.ts';
import { Subject } from './subject.tsx';
import { useAuditText } from './audit-text.ts';

/** Side panel with the details of one entry; null closes it. */
export function EntryPanel({ entry, onClose }: { readonly entry: Entry | null; readonly onClose: () => void }) {
  const words = useAuditText();
  const shown = useLast(entry);
  return (
    <SidePanel opened={entry !== null} onClose={onClose} title={shown === null ? '' : words.action(shown.action)}>
      {shown && <Details entry={shown} />}
    </SidePanel>
  );
}

function Details({ entry: { subject, actor, at, detail } }: { readonly entry: Entry }) {
  const { t } = useTranslation('security');
  const changes = useChanges()(detail);
  return (
    <Stack>
      <Facts
        facts={[
          { label: t('audit.when'), value: <DateTime value={at} show="exact" /> },
          { label: t('audit.who'), value: <Who actor={actor} /> },
          { label: t('audit.subjectOf'), value: <Subject subject={subject} /> },
        ]}
      />
      <Title order={3} size="h5">
        {t('audit.details')}
      </Title>
      {changes.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('audit.noDetails')}
        </Text>
      ) : (
        <Facts
          facts={changes.map(({ label, value }) => ({ label, value: <bdi className="foreign-text">{value}</bdi> }))}
        />
      )}
    </Stack>
  );
}
