import { Alert, Group, Loader, Stack, Text } from '@mantine/core';
import { CircleAlert, CircleCheck, CircleDashed } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ErrorState } from '../../ui/error-state.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { api, ok } from '../../api/client.ts';
import { CONNECTIONS } from './connection.ts';
import type { KindName } from './kind.ts';
import { Line } from './step-line.tsx';

const NAMES = ['resolve', 'connect', 'bind'] as const;

/** Tests the connection with these settings, before anything is saved. */
export const testSettings = (body: {
  kind: KindName;
  settings: Record<string, unknown>;
  secret: Record<string, unknown>;
}) => ok(api.POST(`${CONNECTIONS}/test`, { body }));

export const testConnection = (name: string) =>
  ok(api.POST(`${CONNECTIONS}/{name}/test`, { params: { path: { name } } }));

type TestReport = Awaited<ReturnType<typeof testConnection>>;
type Step = TestReport['steps'][number];
type TestResultProps = { readonly report: TestReport | undefined; readonly busy: boolean; readonly error: unknown };

/** The result of a connection test, step by step; nothing before the first test. */
export function TestResult({ report, busy, error }: TestResultProps) {
  const { t } = useTranslation('operator');
  if (busy) return <Running />;
  if (error) return <ErrorState error={error} />;
  if (report === undefined) return null;
  return (
    <Stack gap="sm" role="status" aria-label={t('trial.result')}>
      <Alert
        color={report.ok ? 'green' : 'red'}
        icon={report.ok ? <CircleCheck size={18} /> : <CircleAlert size={18} />}
        title={t(report.ok ? 'trial.good' : 'trial.bad')}
      />
      {report.steps.map((step) => (
        <StepLine key={step.name} step={step} />
      ))}
    </Stack>
  );
}

function Running() {
  const { t } = useTranslation('operator');
  return (
    <Stack gap="sm" role="status">
      <Group gap="sm">
        <Loader size="sm" aria-hidden="true" />
        <Text size="sm">{t('trial.running')}</Text>
      </Group>
      {NAMES.map((name) => (
        <Line key={name} icon={CircleDashed} color="var(--mantine-color-dimmed)" name={name} />
      ))}
    </Stack>
  );
}

function StepLine({ step: { name, ok: isGood, detail, durationMs } }: { readonly step: Step }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const [icon, color] =
    isGood === null
      ? ([CircleDashed, 'var(--mantine-color-dimmed)'] as const)
      : isGood
        ? ([CircleCheck, 'var(--mantine-color-green-text)'] as const)
        : ([CircleAlert, 'var(--mantine-color-red-text)'] as const);
  const took = isGood === null ? '' : format.number(durationMs, { style: 'unit', unit: 'millisecond' });
  return (
    <Line icon={icon} color={color} name={name} detail={isGood === null ? t('trial.notReached') : detail} took={took} />
  );
}
