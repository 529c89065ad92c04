import { Group, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Facts } from '../../ui/facts.tsx';
import { useFormat } from '../../ui/format.ts';
import { Num } from '../../ui/num.tsx';
import { Section } from '../../ui/section.tsx';
import { TableSkeleton } from '../../ui/table-skeleton.tsx';
import type { Queues } from './queue.ts';

type PipelinesProps = { readonly queues: Queues | undefined };

/** The work behind the interface: receipts, campaigns, imports and the like. */
export function Pipelines({ queues }: PipelinesProps) {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('pipeline.title')} description={t('pipeline.hint')}>
      {queues === undefined ? (
        <TableSkeleton rows={6} />
      ) : (
        <Facts
          facts={queues.pipelines.map((pipeline) => ({
            label: t(`pipeline.name.${pipeline.name}`, { defaultValue: pipeline.name }),
            value: <Waiting pipeline={pipeline} />,
          }))}
        />
      )}
    </Section>
  );
}

function Waiting({ pipeline: { waiting, oldestSeconds } }: { readonly pipeline: Queues['pipelines'][number] }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return (
    <Group gap="sm" justify="flex-end">
      {oldestSeconds !== null && (
        <Text size="xs" c="dimmed">
          {t('queue.oldest', { age: format.duration(oldestSeconds) })}
        </Text>
      )}
      <Num value={waiting} />
    </Group>
  );
}
