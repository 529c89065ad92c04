import { Alert, Group, Stack, Text } from '@mantine/core';
import { Users } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../../ui/error-state.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { MsisdnText } from '../../../ui/values/msisdn-text.tsx';
import { StatusBadge } from '../../../ui/values/status-badge.tsx';
import { ChannelBadge } from '../../../ui/values/statuses.tsx';
import { TableSkeleton } from '../../../ui/table/table-skeleton.tsx';
import type { Draft } from '../draft.ts';
import classes from '../../../ui/choice-list.module.css';
import { Pager } from '../pager.tsx';
import { firstStepOf, type Sample, usePreview } from '../preview.ts';

const PAGE_SIZE = 8;

/** A sample of the recipients, each with its first channel or the reason why it is skipped. */
export function Samples({ draft }: { readonly draft: Draft }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const [offset, setOffset] = useState(0);
  const { data, error, refetch } = usePreview(draft, { limit: PAGE_SIZE, offset });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <TableSkeleton rows={3} />;
  if (data.total === 0) return <Nobody />;
  const skipped = data.data.filter(({ skip }) => skip !== null).length;
  return (
    <Stack gap="sm">
      {skipped > 0 && <Alert color="amber">{t('samples.skipped', { count: skipped, of: data.data.length })}</Alert>}
      <ul className={`${classes.lists} ${classes.whole}`} aria-label={t('samples.title')}>
        {data.data.map((sample, at) => (
          <SampleLine key={`${sample.phoneNumber}-${at}`} sample={sample} />
        ))}
      </ul>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" className="tabular" role="status">
          {t('samples.range', {
            first: format.number(offset + 1),
            last: format.number(offset + data.data.length),
            total: format.number(data.total),
          })}
        </Text>
        <Pager offset={offset} pageSize={PAGE_SIZE} hasMore={offset + PAGE_SIZE < data.total} onChange={setOffset} />
      </Group>
    </Stack>
  );
}

function Nobody() {
  const { t } = useTranslation('campaigns');
  return (
    <Group gap="xs" c="dimmed">
      <Users size={16} aria-hidden="true" />
      <Text size="sm">{t('samples.nobody')}</Text>
    </Group>
  );
}

function SampleLine({ sample }: { readonly sample: Sample }) {
  const { t } = useTranslation('campaigns');
  const first = firstStepOf(sample);
  return (
    <li className={classes.list}>
      <Group gap="sm" style={{ minWidth: 0 }}>
        <Text size="sm" fw={600} dir="auto" className="foreign-text">
          {sample.name || t('samples.unnamed')}
        </Text>
        {sample.phoneNumber !== null && (
          <Text size="sm" c="dimmed">
            <MsisdnText number={sample.phoneNumber} />
          </Text>
        )}
      </Group>
      {first === null ? (
        <StatusBadge tone="warning">{t(`skip.${sample.skip ?? 'unsupported'}`)}</StatusBadge>
      ) : (
        <ChannelBadge channel={first.channel} />
      )}
    </li>
  );
}
