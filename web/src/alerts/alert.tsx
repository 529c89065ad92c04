import { Checkbox, NativeSelect, NumberInput, Radio, SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { queryOptions } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { type Language, LANGUAGES, toLanguage } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { SecretOnce } from '../ui/actions.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ownZone, TimeZoneField } from '../ui/time-zone.tsx';

/** Dialog that adds a recipient, or changes the given one. The secret of a new webhook is shown once. */
export function TargetDialog({ target }: { readonly target: Target | null }) {
  const { t, i18n } = useTranslation('alerts');
  return (
    <FormDialog<Fields, { readonly secret: string | null }>
      title={t(target ? 'target.edit.title' : 'target.new.title')}
      values={fieldsOf(target, i18n.language)}
      validate={{
        address: (address, { kind }) =>
          target === null && kind !== 'owners' && address.trim() === '' ? t('required') : null,
      }}
      run={async (fields) => {
        if (target === null) return ok(api.POST(TARGETS, { body: bodyOf(fields) }));
        await ok(api.PUT(`${TARGETS}/{id}`, { params: { path: { id: target.id } }, body: choiceOf(fields) }));
        return { secret: null };
      }}
      refresh={KEYS}
      done={t(target ? 'target.edit.done' : 'target.new.done')}
      action={t(target ? 'ui:save' : 'target.new.submit')}
      result={({ secret }) =>
        secret === null ? null : (
          <SecretOnce label={t('target.secret.label')} secret={secret} note={t('target.secret.note')} />
        )
      }
      finish={t('ui:close')}
    >
      {(form) => (
        <>
          {target === null && <WhoFields form={form} />}
          <WhenFields form={form} />
        </>
      )}
    </FormDialog>
  );
}

type FieldsProps = { readonly form: UseFormReturnType<Fields> };

function WhoFields({ form }: FieldsProps) {
  const { t } = useTranslation('alerts');
  const { kind } = form.values;
  return (
    <>
      <Radio.Group label={t('target.field.kind')} {...form.getInputProps('kind')}>
        <Stack gap="xs" mt="xs">
          {KINDS.map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`target.kind.${each}`)}
              description={t(`target.kindHint.${each}`)}
            />
          ))}
        </Stack>
      </Radio.Group>
      {kind !== 'owners' && (
        <TextInput
          label={t(`target.field.address.${kind}`)}
          placeholder={kind === 'mail' ? 'ops@example.com' : 'https://hooks.example.com/…'}
          {...form.getInputProps('address')}
        />
      )}
    </>
  );
}

function WhenFields({ form }: FieldsProps) {
  const { t } = useTranslation('alerts');
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('target.field.severity')}
          data={SEVERITIES.map((value) => ({ value, label: t(`target.severity.${value}`) }))}
          {...form.getInputProps('severity')}
        />
        <NativeSelect
          label={t('target.field.language')}
          data={LANGUAGES.map((value) => ({ value, label: t(`app:language.${value}`) }))}
          {...form.getInputProps('language')}
        />
      </SimpleGrid>
      <Checkbox
        label={t('target.field.hasQuiet')}
        description={t('target.field.quietHint')}
        {...form.getInputProps('hasQuiet', { type: 'checkbox' })}
      />
      {form.values.hasQuiet && (
        <>
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            <TextInput type="time" label={t('target.field.from')} required {...form.getInputProps('from')} />
            <TextInput type="time" label={t('target.field.to')} required {...form.getInputProps('to')} />
            <TimeZoneField label={t('target.field.timeZone')} {...form.getInputProps('timeZone')} />
          </SimpleGrid>
          <Checkbox
            label={t('target.field.breaksQuiet')}
            {...form.getInputProps('breaksQuiet', { type: 'checkbox' })}
          />
        </>
      )}
    </>
  );
}

const KINDS = ['mail', 'webhook', 'owners'] as const satisfies readonly Target['kind'][];
const SEVERITIES = ['error', 'warning', 'info'] as const satisfies readonly Target['severity'][];

/** The fields of a recipient as the form has them. */
type Fields = {
  readonly kind: Target['kind'];
  readonly address: string;
  readonly severity: Target['severity'];
  readonly language: Target['language'];
  readonly hasQuiet: boolean;
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly breaksQuiet: boolean;
};

/** The fields of a new recipient: everything but notes, and problems at any time. */
const newFields = (language: string): Fields => ({
  kind: 'mail',
  address: '',
  severity: 'warning',
  language: toLanguage(language),
  hasQuiet: false,
  ...DEFAULT_QUIET,
  timeZone: ownZone(),
  breaksQuiet: true,
});

const DEFAULT_QUIET = { from: '22:00', to: '07:00' };

/** The fields of a recipient; of a new one the defaults. */
function fieldsOf(target: Target | null, language: string): Fields {
  if (target === null) return newFields(language);
  const { kind, address, severity, quiet, timeZone, breaksQuiet } = target;
  const hasQuiet = quiet !== null;
  return {
    kind,
    address,
    severity,
    language: target.language,
    hasQuiet,
    ...(quiet ?? DEFAULT_QUIET),
    timeZone,
    breaksQuiet,
  };
}

/** The body of the request that changes a recipient. */
const choiceOf = ({ severity, language, hasQuiet, from, to, timeZone, breaksQuiet }: Fields) => ({
  severity,
  language,
  quiet: hasQuiet ? { from, to } : null,
  timeZone,
  breaksQuiet,
});

/** The body of the request that adds a recipient. */
const bodyOf = (fields: Fields) => ({
  kind: fields.kind,
  address: fields.kind === 'owners' ? '' : fields.address.trim(),
  ...choiceOf(fields),
});

/** Alerts are the operators', whatever their role in the account that they look at. */
export const OPERATOR: Need = { operator: true, write: false };
const REFRESH_MS = 5_000;

export const ALERTS = '/api/operator/v1/alerts';
const RULES = '/api/operator/v1/alert-rules';
export const TARGETS = '/api/operator/v1/alert-targets';

type Listed = { readonly state: 'open' | 'resolved'; readonly page: number; readonly limit: number };
const listAlerts = (query: Listed & { readonly language: Language }, signal: AbortSignal) =>
  ok(api.GET(ALERTS, { params: { query }, signal }));
export type Alert = Awaited<ReturnType<typeof listAlerts>>['data'][number];

/** A page of the alerts; `language` is that of their titles. */
export const alertsQuery = ({ language, ...listed }: Listed & { readonly language: string }) =>
  queryOptions({
    queryKey: ['alerts', 'list', listed, language],
    queryFn: ({ signal }) => listAlerts({ ...listed, language: toLanguage(language) }, signal),
    refetchInterval: REFRESH_MS,
    placeholderData: (before) => before,
  });

export const rulesQuery = queryOptions({
  queryKey: ['alerts', 'rules'],
  queryFn: ({ signal }) => ok(api.GET(RULES, { signal })),
});
export type Rule = Awaited<ReturnType<NonNullable<typeof rulesQuery.queryFn>>>['data'][number];

export const targetsQuery = queryOptions({
  queryKey: ['alerts', 'targets'],
  queryFn: ({ signal }) => ok(api.GET(TARGETS, { signal })),
  refetchInterval: REFRESH_MS * 2,
});
export type Target = Awaited<ReturnType<NonNullable<typeof targetsQuery.queryFn>>>['data'][number];
export const KEYS = [['alerts']] as const;

type Place = { readonly to: string; readonly search?: Readonly<Record<string, string>> };

const HEALTH = '/operator/health';
const PLACES: Readonly<Partial<Record<Alert['kind'], Place>>> = {
  sending_paused: { to: '/operator' },
  no_worker: { to: '/operator/queues' },
  worker_missing: { to: '/operator/queues' },
  unknown_outcomes: { to: '/operator/unknowns' },
  receipts_unmatched: { to: HEALTH, search: { tab: 'receipts' } },
  callbacks_unclaimed: { to: '/operator/connections' },
  missed_schedules: { to: '/operator/queues' },
  disk_low: { to: HEALTH, search: { tab: 'doctor' } },
  certificate_expiring: { to: HEALTH, search: { tab: 'doctor' } },
  lookups_used_up: { to: '/operator/routes' },
  billing_differs: { to: '/operator/prices', search: { tab: 'margins' } },
  sold_under_cost: { to: '/operator/prices', search: { tab: 'margins' } },
  agents_requested: { to: '/operator/senders' },
};
const OF_ACCOUNTS: readonly Alert['kind'][] = [
  'low_credit',
  'webhook_failing',
  'webhook_disabled',
  'token_expiring',
  'verify_range_paused',
  'verify_cost_cap',
  'verify_conversion_drop',
  'wishes_undecided',
];

/** The page where an alert is resolved; null if there is none. */
export function placeOf({ kind, subject, subjectId }: Alert): Place | null {
  const place = PLACES[kind];
  if (place !== undefined) return place;
  if (OF_ACCOUNTS.includes(kind)) return subjectId === null ? null : { to: `/operator/accounts/${subjectId}` };
  return subject === null ? null : { to: `/operator/connections/${encodeURIComponent(subject)}` };
}

/** Sets the rule by which a kind of condition is an alert. */
export const setRule = ({ kind, enabled, forSeconds, threshold }: Omit<Rule, 'unit'>) =>
  ok(api.PUT(`${RULES}/{kind}`, { params: { path: { kind } }, body: { enabled, forSeconds, threshold } }));

type Values = { readonly forSeconds: number | string; readonly threshold: number | string };

/** Dialog that changes the threshold and the duration from which a condition is an alert. */
export function RuleDialog({ rule: { kind, enabled, unit, ...rule } }: { readonly rule: Rule }) {
  const { t } = useTranslation('alerts');
  return (
    <FormDialog<Values, unknown>
      title={t(`rule.kind.${kind}`)}
      values={{ forSeconds: rule.forSeconds, threshold: rule.threshold ?? '' }}
      validate={{
        forSeconds: (value) => (value === '' ? t('required') : null),
        threshold: (value) => (unit !== null && value === '' ? t('required') : null),
      }}
      run={({ forSeconds, threshold }) =>
        setRule({ kind, enabled, forSeconds: Number(forSeconds), threshold: unit === null ? null : Number(threshold) })
      }
      refresh={KEYS}
      done={t('rule.edit.done')}
      action={t('ui:save')}
    >
      {(form) => (
        <>
          {unit !== null && (
            <NumberInput
              label={t(`rule.unit.${unit}`)}
              description={t('rule.edit.thresholdHint')}
              min={0}
              hideControls
              data-autofocus
              {...form.getInputProps('threshold')}
            />
          )}
          <NumberInput
            label={t('rule.edit.forSeconds')}
            description={t('rule.edit.forHint')}
            min={0}
            max={86_400}
            allowDecimal={false}
            hideControls
            {...form.getInputProps('forSeconds')}
          />
        </>
      )}
    </FormDialog>
  );
}
