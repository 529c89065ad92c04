import { Group, Progress, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../ui/values/format.ts';
import { Num } from '../../ui/values/num.tsx';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import { type Connection, stateOf, TONES } from './connection.ts';

type StateProps = { readonly connection: Pick<Connection, 'status' | 'up'> & { readonly fault?: string | null } };

export function ConnectionState({ connection }: StateProps) {
  const { t } = useTranslation('operator');
  const state = stateOf(connection);
  return <StatusBadge tone={TONES[state]}>{t(`connection.state.${state}`)}</StatusBadge>;
}

type Props = { readonly connection: Connection };

/** The number of binds that can submit, of those configured. */
export function Links({ connection: { bindsUp, bindsWanted } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return <span className="tabular">{t('of', { some: format.number(bindsUp), all: format.number(bindsWanted) })}</span>;
}

/** The number of unanswered messages, of the window's size. */
export function WindowUse({ connection: { inFlight, window, workers } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  if (window === null) return <Num value={inFlight} />;
  const all = window * Math.max(1, workers);
  const label = t('of', { some: format.number(inFlight), all: format.number(all) });
  return (
    <Stack gap={4} miw={88}>
      <Text size="sm" className="tabular" ta="end">
        {label}
      </Text>
      <Progress.Root size="xs">
        <Progress.Section
          value={Math.min(100, (inFlight / all) * 100)}
          color="blue"
          aria-label={t('connection.window')}
          aria-valuetext={label}
        />
      </Progress.Root>
    </Stack>
  );
}

/** The current rate per second, and the agreed limit. */
export function Rate({ connection: { perSecond, rateLimit } }: Props) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const digits = { maximumFractionDigits: 1 };
  return (
    <Group gap={4} wrap="nowrap" justify="flex-end">
      <Num value={perSecond} options={digits} />
      {rateLimit !== null && (
        <Text span size="xs" c="dimmed" className="tabular" style={{ whiteSpace: 'nowrap' }}>
          {t('connection.ofAgreed', { agreed: format.number(rateLimit, digits) })}
        </Text>
      )}
    </Group>
  );
}
