import { Group, Progress, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Duration } from './date-time.tsx';
import { useFormat } from './format.ts';

type JobProgressProps = {
  /** The name of the job: "Importing people.csv". */
  readonly label: string;
  readonly done: number;
  /** The total; null while unknown. */
  readonly total: number | null;
  /** The estimated time left, in seconds; null or undefined if unknown. */
  readonly secondsLeft?: number | null | undefined;
  readonly tone?: 'running' | 'done' | 'failed' | 'paused';
  /** True to hide the text above the bar, for tables. */
  readonly compact?: boolean;
};

const COLORS = { running: 'blue', done: 'green', failed: 'red', paused: 'violet' } as const;

/** The progress of a job that takes longer than a second. */
export function JobProgress({ label, done, total, secondsLeft, tone = 'running', compact = false }: JobProgressProps) {
  const { t } = useTranslation('ui');
  const format = useFormat();
  const share = total === null ? 0 : total === 0 ? 1 : Math.min(1, done / total);
  const counted =
    total === null ? format.number(done) : t('progress.of', { done: format.number(done), total: format.number(total) });
  return (
    <Stack gap={4} miw={compact ? 96 : 160}>
      <Group justify="space-between" gap="xs" wrap="nowrap">
        <Text size="xs" truncate>
          {compact ? format.percent(share, 0) : label}
        </Text>
        <Text size="xs" c="dimmed" className="tabular" style={{ whiteSpace: 'nowrap' }}>
          {!compact && counted}
          {secondsLeft !== null && secondsLeft !== undefined && tone === 'running' && (
            <>
              {' · '}
              {t('progress.left')} <Duration seconds={secondsLeft} />
            </>
          )}
        </Text>
      </Group>
      <Progress.Root size="sm">
        <Progress.Section
          value={total === null ? 100 : share * 100}
          color={COLORS[tone]}
          animated={tone === 'running'}
          striped={total === null}
          aria-label={label}
          aria-valuetext={counted}
        />
      </Progress.Root>
    </Stack>
  );
}
