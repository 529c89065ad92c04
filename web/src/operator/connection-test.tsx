import { Alert, Code, Group, Loader, Stack, Text, TextInput } from '@mantine/core';
import { CircleAlert, CircleCheck, CircleDashed, type LucideIcon } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { CopyButton, GuardedButton } from '../ui/actions.tsx';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section } from '../ui/parts.tsx';
import { CONNECTIONS } from './connection-choice.tsx';
import type { KindName } from './connections-fields.ts';
import { OPERATOR } from './shared.tsx';

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

/** Sets up the connection at the carrier: subscribes the app, and registers the numbers with a PIN. */
export function CarrierSetup({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const [pin, setPin] = useState('');
  const setup = useAction({
    run: () =>
      ok(api.POST(`${CONNECTIONS}/{name}/setup`, { params: { path: { name } }, body: pin === '' ? {} : { pin } })),
  });
  return (
    <Section title={t('setup.title')} description={t('setup.hint')}>
      <Stack gap="md">
        <Group align="flex-end">
          <TextInput
            label={t('setup.pin')}
            description={t('setup.pinHint')}
            value={pin}
            onChange={(event) => setPin(event.currentTarget.value.trim())}
            inputMode="numeric"
            maxLength={6}
            autoComplete="off"
          />
          <GuardedButton need={OPERATOR} variant="default" loading={setup.busy} onClick={() => setup.run()}>
            {t('setup.open')}
          </GuardedButton>
        </Group>
        {setup.result && (
          <Stack gap="sm" role="status" aria-label={t('setup.result')}>
            {setup.result.steps.map(({ name: step, ok: isGood, detail }) => (
              <Line
                key={step}
                icon={isGood ? CircleCheck : CircleAlert}
                color={isGood ? 'var(--mantine-color-green-text)' : 'var(--mantine-color-red-text)'}
                name={step}
                detail={detail}
              />
            ))}
          </Stack>
        )}
      </Stack>
    </Section>
  );
}

type LineProps = {
  readonly icon: LucideIcon;
  readonly color: string;
  readonly name: 'resolve' | 'connect' | 'bind' | 'exchange' | 'subscribe' | 'register';
  readonly detail?: string;
  readonly took?: string;
};

/** One step of a test or a setup, with its result. */
function Line({ icon: Icon, color, name, detail, took }: LineProps) {
  const { t } = useTranslation('operator');
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <Icon size={18} color={color} aria-hidden="true" style={{ flexShrink: 0, marginTop: 2 }} />
      <Stack gap={0} style={{ minWidth: 0, flex: 1 }}>
        <Text size="sm" fw={500}>
          {t(`trial.step.${name}`)}
        </Text>
        {detail !== undefined && (
          <Text size="sm" c="dimmed" className="foreign-text">
            {detail}
          </Text>
        )}
      </Stack>
      <Text size="xs" c="dimmed" className="tabular">
        {took}
      </Text>
    </Group>
  );
}

/** The callback URL to enter at the carrier. */
export function Callback({ kind, url }: { readonly kind: KindName; readonly url: string }) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap="xs">
      <Text size="sm">{t(`kind.${kind}.callback`)}</Text>
      <Group gap="xs" wrap="nowrap">
        <Code dir="ltr" fz="sm" p="xs" style={{ overflowWrap: 'anywhere' }} aria-label={t('connection.callback')}>
          {url}
        </Code>
        <CopyButton text={url} label={t('connection.copyCallback')} />
      </Group>
    </Stack>
  );
}
