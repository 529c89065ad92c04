import { Alert, Group, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { RefreshCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import { MayButton } from '../../ui/may-button.tsx';
import { TableSkeleton } from '../../ui/table-skeleton.tsx';
import { OPERATOR } from '../shared/need.ts';
import { CheckLine } from './check-line.tsx';

/** Database, disk, clock, secrets and carriers, as the machine sees them that answers. */
export function Doctor() {
  const { t } = useTranslation('operator');
  const { data, error, isFetching, refetch } = useQuery({
    queryKey: ['operator', 'health', 'doctor'],
    queryFn: ({ signal }) => ok(api.GET('/api/operator/v1/doctor', { signal })),
  });
  return (
    <Stack>
      <Group justify="flex-end">
        <MayButton need={OPERATOR} variant="default" leftSection={<RefreshCw size={16} />} loading={isFetching} onClick={() => void refetch()}>
          {t('health.again')}
        </MayButton>
      </Group>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={6} />}
      {data?.findings.map(({ name, ok: isGood, detail, advice }) => (
        <CheckLine key={name} name={t(`health.finding.${name}`, { defaultValue: name })} ok={isGood} detail={detail}>
          {advice !== null && (
            <Alert color="amber" py="xs">
              {advice}
            </Alert>
          )}
        </CheckLine>
      ))}
    </Stack>
  );
}
