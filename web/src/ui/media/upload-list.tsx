import { Group, Stack, Text } from '@mantine/core';
import { CircleAlert, CircleCheck } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useProblemText } from '../../api/problem-text.ts';
import { Bytes } from '../values/num.tsx';
import { JobProgress } from '../values/progress.tsx';
import type { UploadRow } from './use-uploads.ts';

/** The uploads with their progress or result, by file name. */
export function UploadList({ rows }: { readonly rows: readonly UploadRow[] }) {
  const { t } = useTranslation('ui');
  if (rows.length === 0) return null;
  return (
    <Stack component="ul" gap="sm" m={0} p={0} aria-label={t('upload.list')} style={{ listStyle: 'none' }}>
      {rows.map((row) => (
        <li key={row.id}>
          <Upload row={row} />
        </li>
      ))}
    </Stack>
  );
}

function Upload({ row }: { readonly row: UploadRow }) {
  const { t } = useTranslation('ui');
  const problemText = useProblemText();
  const { name, size, sent, state } = row;
  if (state === 'running' || state === 'waiting')
    return (
      <Stack gap={4}>
        <Name row={row} />
        <JobProgress
          label={t(sent < size || size === 0 ? 'upload.running' : 'upload.checking', { name })}
          done={sent}
          total={Math.max(size, 1)}
          compact
        />
      </Stack>
    );
  const failed = state === 'failed';
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" role={failed ? 'alert' : 'status'}>
      {failed ? (
        <CircleAlert size={18} color="var(--mantine-color-error)" aria-hidden="true" style={{ flexShrink: 0 }} />
      ) : (
        <CircleCheck size={18} color="var(--mantine-color-green-text)" aria-hidden="true" style={{ flexShrink: 0 }} />
      )}
      <Stack gap={0} style={{ minWidth: 0 }}>
        <Name row={row} />
        <Text size="xs" c={failed ? 'var(--mantine-color-error)' : 'dimmed'} style={{ overflowWrap: 'anywhere' }}>
          {failed ? t('upload.failed', { reason: problemText(row.error) }) : t('upload.done')}
        </Text>
      </Stack>
    </Group>
  );
}

const Name = ({ row: { name, size } }: { readonly row: UploadRow }) => (
  <Group gap="xs" wrap="nowrap">
    <Text size="sm" fw={600} truncate dir="auto">
      {name}
    </Text>
    <Text size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
      <Bytes count={size} />
    </Text>
  </Group>
);
