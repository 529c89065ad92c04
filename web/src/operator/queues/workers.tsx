import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DateTime } from '../../ui/values/date-time.tsx';
import { Section } from '../../ui/section.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import type { Queues } from './queue.ts';

type Worker = Queues['workers'][number];

/** The worker processes, with the errors of their loops. */
export function Workers({ queues }: { readonly queues: Queues | undefined }) {
  const { t } = useTranslation('operator');
  const living = queues?.workers.filter(({ alive }) => alive) ?? [];
  return (
    <Section title={t('worker.title')} description={t('worker.hint')}>
      {queues === undefined && <TableSkeleton rows={3} />}
      {queues && living.length === 0 && (
        <Alert color="red" role="alert">
          {t('worker.none')}
        </Alert>
      )}
      <Stack gap="md">
        {queues?.workers.map((worker) => (
          <WorkerLine key={worker.id} worker={worker} />
        ))}
      </Stack>
    </Section>
  );
}

function WorkerLine({ worker: { host, pid, startedAt, seenAt, alive, tasks } }: { readonly worker: Worker }) {
  const { t } = useTranslation('operator');
  const failed = tasks.filter(({ error }) => error !== null);
  return (
    <Stack gap={4}>
      <Group justify="space-between">
        <Group gap="xs">
          <Text size="sm" fw={600}>
            <bdi>{host}</bdi>
          </Text>
          <Text size="xs" c="dimmed" className="tabular">
            {t('worker.pid', { pid })}
          </Text>
        </Group>
        <StatusBadge tone={alive ? 'good' : 'bad'}>{t(alive ? 'worker.alive' : 'worker.gone')}</StatusBadge>
      </Group>
      <Text size="xs" c="dimmed" component="div">
        {t('worker.since')} <DateTime value={startedAt} /> · {t('worker.seen')} <DateTime value={seenAt} />
      </Text>
      {failed.map(({ name, error }) => (
        <Alert key={name} color="amber" py="xs">
          <Text size="xs" className="foreign-text">
            <Code>{name}</Code> {error}
          </Text>
        </Alert>
      ))}
    </Stack>
  );
}
