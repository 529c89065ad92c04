import { NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { DateTime } from '../../ui/values/date-time.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { useUrlState, whole } from '../../ui/url-state.ts';
import { CheckLine } from './check-line.tsx';
import { Checks } from './checks.tsx';
import { Differences } from './differences.tsx';

const HOURS = [24, 72, 168] as const;
const FIELDS = { hours: whole(24) };

const reconcile = (hours: number, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/reconciliation', { params: { query: { hours } }, signal }));
type Check = Awaited<ReturnType<typeof reconcile>>['checks'][number];

/** The five reconciliation checks. They read whole tables, so they run on request only. */
export function Reconciliation() {
  const { t } = useTranslation('operator');
  const [{ hours }, setSearch] = useUrlState(FIELDS);
  const query = useQuery({
    queryKey: ['operator', 'health', 'reconciliation', hours],
    queryFn: ({ signal }) => reconcile(hours, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const choice = (
    <NativeSelect
      label={t('health.hours')}
      data={HOURS.map((value) => ({ value: String(value), label: t('health.lastHours', { count: value }) }))}
      value={String(hours)}
      onChange={(event) => setSearch({ hours: Number(event.currentTarget.value) })}
    />
  );
  return (
    <Checks
      label={t('health.tab.reconciliation')}
      query={query}
      rows={5}
      resultsOf={({ checks }) => checks.map((each) => each.ok)}
      options={choice}
      note={({ asOf }) => <AsOf at={asOf} />}
    >
      {({ checks }) => checks.map((check) => <CheckResult key={check.name} check={check} />)}
    </Checks>
  );
}

function AsOf({ at }: { readonly at: string }) {
  const { t } = useTranslation('operator');
  return (
    <Text size="sm" c="dimmed" component="div">
      {t('health.asOf')} <DateTime value={at} />
    </Text>
  );
}

function CheckResult({ check: { name, ok: isGood, detail, durationMs, data } }: { readonly check: Check }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return (
    <CheckLine
      name={t(`health.check.${name}.name`)}
      ok={isGood}
      detail={isGood ? t(`health.check.${name}.good`) : detail}
      note={format.number(durationMs, { style: 'unit', unit: 'millisecond' })}
    >
      {isGood === false && <Text size="sm">{t(`health.check.${name}.advice`)}</Text>}
      {isGood === false && data.length > 0 && <Differences rows={data} />}
    </CheckLine>
  );
}
