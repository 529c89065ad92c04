import { Stack, Text } from '@mantine/core';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Column } from '../ui/table/data-table.tsx';
import { Countdown, DateTime } from '../ui/values/date-time.tsx';
import { Bytes, Num } from '../ui/values/num.tsx';
import { JobProgress } from '../ui/values/progress.tsx';
import { StatusBadge } from '../ui/values/status-badge.tsx';
import { useIsPhone } from '../ui/use-is-phone.ts';
import { type Export, formatKey } from './export.ts';
import { FilterSummary } from './filter-summary.tsx';

export function useExportColumns(): readonly Column<Export>[] {
  const { t } = useTranslation('exports');
  return useMemo(
    () => [
      { id: 'type', header: t('column.type'), phone: 'title', cell: (row) => <What row={row} /> },
      { id: 'status', header: t('column.status'), cell: (row) => <State row={row} /> },
      { id: 'rows', header: t('column.rows'), align: 'right', cell: ({ rows }) => <Num value={rows} /> },
      {
        id: 'sizeBytes',
        header: t('column.size'),
        align: 'right',
        cell: ({ sizeBytes }) => <Bytes count={sizeBytes} />,
      },
      { id: 'format', header: t('column.format'), cell: ({ format }) => t(`format.${formatKey(format)}`) },
      { id: 'createdAt', header: t('column.createdAt'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

function What({ row: { type, filters } }: { readonly row: Export }) {
  const { t } = useTranslation('exports');
  return (
    <Stack gap={2}>
      <Text size="sm" fw={600}>
        {t(`type.${type}`)}
      </Text>
      <Text size="xs" c="dimmed" fw={400} component="span">
        <FilterSummary filters={filters} />
      </Text>
    </Stack>
  );
}

const TONES = { PENDING: 'progress', COMPLETED: 'good', EXPIRED: 'neutral', FAILED: 'bad' } as const;

/** The progress of an export, then the remaining time of its file or why there is none. */
function State({ row: { type, status, progress, expiresAt, failureReason } }: { readonly row: Export }) {
  const { t } = useTranslation('exports');
  const isPhone = useIsPhone();
  if (status === 'PENDING') return <JobProgress label={t(`type.${type}`)} done={progress} total={1} compact />;
  return (
    <Stack gap={2} align={isPhone ? 'flex-end' : 'flex-start'}>
      <StatusBadge tone={TONES[status]}>{t(`status.${status}`)}</StatusBadge>
      {status === 'COMPLETED' && expiresAt !== null && (
        <Text size="xs" c="dimmed">
          {t('expires')} <Countdown to={expiresAt} ended={t('status.EXPIRED')} />
        </Text>
      )}
      {status === 'FAILED' && failureReason !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {failureReason}
        </Text>
      )}
    </Stack>
  );
}
