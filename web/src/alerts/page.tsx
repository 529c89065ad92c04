import { Alert as CoreAlert, Group, NativeSelect, Stack, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, CircleCheckBig, MailX, Send } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { notify } from '../api/notify.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, EditIcon, GuardedButton, useDisabledReason } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, PageFrame, Section, TableSkeleton, TextLink } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, StatusBadge, type Tone } from '../ui/values.tsx';
import classes from './lines.module.css';
import {
  ALERTS,
  type Alert,
  alertsQuery,
  KEYS,
  OPERATOR,
  placeOf,
  type Rule,
  RuleDialog,
  rulesQuery,
  setRule,
  TARGETS,
  type Target,
  TargetDialog,
  targetsQuery,
} from './alert.tsx';

const STATES = ['open', 'resolved'] as const;
const FIELDS = { ...listFields(), state: choice(STATES, 'open') };

/** The open alerts, or the resolved ones. */
function AlertList() {
  const { t, i18n } = useTranslation('alerts');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useColumns(search.state === 'resolved');
  const { page, limit, state } = search;
  const query = useQuery(alertsQuery({ page, limit, state, language: i18n.language }));
  return (
    <Stack>
      <FilterBar>
        <NativeSelect
          label={t('show')}
          data={STATES.map((value) => ({ value, label: t(`list.${value}`) }))}
          value={state}
          onChange={({ currentTarget }) =>
            setSearch({ state: currentTarget.value === 'resolved' ? 'resolved' : 'open' })
          }
        />
      </FilterBar>
      <DataTable<Alert>
        id="alerts"
        label={t(`list.${state}`)}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        {...(state === 'open' && { actions: (alert: Alert) => <Acknowledge alert={alert} /> })}
        empty={
          <EmptyState
            icon={CircleCheckBig}
            title={t(`none.${state}.title`)}
            text={t(`none.${state}.text`)}
            help="alerts#what-is-an-alert"
          />
        }
      />
    </Stack>
  );
}

const TONES: Readonly<Record<Alert['severity'], Tone>> = { error: 'bad', warning: 'warning', info: 'neutral' };

/** State of an alert: its severity until it is acknowledged. */
function State({ alert: { state, severity } }: { readonly alert: Alert }) {
  const { t } = useTranslation('alerts');
  if (state === 'resolved') return <StatusBadge tone="good">{t('state.resolved')}</StatusBadge>;
  if (state === 'acknowledged') return <StatusBadge tone="paused">{t('state.acknowledged')}</StatusBadge>;
  return <StatusBadge tone={TONES[severity]}>{t(`severity.${severity}`)}</StatusBadge>;
}

function What({ alert }: { readonly alert: Alert }) {
  const { title, detail, acknowledgedBy } = alert;
  const { t } = useTranslation('alerts');
  const place = placeOf(alert);
  return (
    <Stack gap={2}>
      {place === null ? (
        <Text size="sm">{title}</Text>
      ) : (
        <TextLink {...place} dir="auto">
          {title}
        </TextLink>
      )}
      {detail !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {detail}
        </Text>
      )}
      {acknowledgedBy !== null && (
        <Text size="xs" c="dimmed">
          {t('acknowledgedBy', { name: acknowledgedBy })}
        </Text>
      )}
    </Stack>
  );
}

function useColumns(isResolved: boolean): readonly Column<Alert>[] {
  const { t } = useTranslation('alerts');
  return useMemo(
    () => [
      { id: 'what', header: t('column.what'), phone: 'title', cell: (alert) => <What alert={alert} /> },
      { id: 'state', header: t('column.state'), cell: (alert) => <State alert={alert} /> },
      { id: 'since', header: t('column.since'), cell: ({ since }) => <DateTime value={since} /> },
      ...(isResolved
        ? [{ id: 'end', header: t('column.end'), cell: ({ resolvedAt }: Alert) => <DateTime value={resolvedAt} /> }]
        : []),
    ],
    [t, isResolved],
  );
}

function Acknowledge({ alert: { id, state, title } }: { readonly alert: Alert }) {
  const { t } = useTranslation('alerts');
  const acknowledge = useAction({
    run: () => ok(api.POST(`${ALERTS}/{id}/acknowledge`, { params: { path: { id } } })),
    refresh: KEYS,
    done: t('acknowledge.done', { title }),
  });
  if (state !== 'firing') return null;
  return (
    <GuardedButton
      need={OPERATOR}
      size="xs"
      variant="default"
      leftSection={<Check size={14} />}
      loading={acknowledge.busy}
      onClick={() => acknowledge.run()}
    >
      {t('acknowledge.submit')}
    </GuardedButton>
  );
}

/** Recipients of alerts. */
function Targets() {
  const { t } = useTranslation('alerts');
  const { data, error } = useQuery(targetsQuery);
  return (
    <Section
      title={t('target.title')}
      description={t('target.hint')}
      actions={
        <AddButton need={OPERATOR} onClick={() => openDialog(<TargetDialog target={null} />)}>
          {t('target.add')}
        </AddButton>
      }
    >
      {error && !data && <ErrorState error={error} />}
      {!data && !error && <TableSkeleton rows={2} />}
      {data && <NoMail isMissing={!data.canMail && data.data.some(({ kind }) => kind !== 'webhook')} />}
      {data?.data.length === 0 && <Muted>{t('target.none')}</Muted>}
      {data && data.data.length > 0 && (
        <ul className={classes.list} aria-label={t('target.title')}>
          {data.data.map((target) => (
            <li key={target.id}>
              <TargetLine target={target} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function NoMail({ isMissing }: { readonly isMissing: boolean }) {
  const { t } = useTranslation('alerts');
  if (!isMissing) return null;
  return (
    <CoreAlert color="amber" icon={<MailX size={18} />}>
      {t('target.noMail')}
    </CoreAlert>
  );
}

function TargetLine({ target }: { readonly target: Target }) {
  const { t } = useTranslation('alerts');
  const { kind, address, severity, quiet, timeZone, breaksQuiet, failingSince, lastError, waiting } = target;
  const name = address === '' ? t('target.owners') : address;
  return (
    <Group justify="space-between" gap="sm" align="flex-start">
      <Stack gap={2} style={{ minWidth: 0, flex: '1 1 260px' }}>
        <Group gap="xs">
          <Text size="sm" fw={500} style={{ overflowWrap: 'anywhere' }}>
            <bdi>{name}</bdi>
          </Text>
          {failingSince !== null && <StatusBadge tone="bad">{t('target.failing')}</StatusBadge>}
        </Group>
        <Text size="xs" c="dimmed">
          {t(`target.kind.${kind}`)} · {t(`target.severity.${severity}`)}
        </Text>
        {quiet !== null && (
          <Text size="xs" c="dimmed">
            {t(breaksQuiet ? 'target.quietBut' : 'target.quiet', { ...quiet, timeZone })}
          </Text>
        )}
        {failingSince !== null && (
          <Text size="xs" component="div" className="foreign-text">
            {t('target.waiting', { count: waiting })} <DateTime value={failingSince} />: {lastError}
          </Text>
        )}
      </Stack>
      <TargetActions target={target} name={name} />
    </Group>
  );
}

type ActionsProps = { readonly target: Target; readonly name: string };

/** Actions for a recipient. */
function TargetActions({ target, name }: ActionsProps) {
  const { t } = useTranslation('alerts');
  const test = useTest(target.id, name);
  return (
    <Group gap={4} wrap="nowrap">
      <GuardedButton
        need={OPERATOR}
        size="xs"
        variant="default"
        leftSection={<Send size={14} />}
        loading={test.busy}
        onClick={() => test.run()}
      >
        {t('target.test.submit')}
      </GuardedButton>
      <EditIcon need={OPERATOR} label={t('target.edit.label', { name })} dialog={<TargetDialog target={target} />} />
      <DeleteIcon
        need={OPERATOR}
        label={t('target.delete.label', { name })}
        question={{
          ...questionTexts(t, 'target.delete', { name }),
          run: () => ok(api.DELETE(`${TARGETS}/{id}`, { params: { path: { id: target.id } } })),
          refresh: KEYS,
        }}
      />
    </Group>
  );
}

function useTest(id: number, name: string) {
  const { t } = useTranslation('alerts');
  return useAction({
    run: () => ok(api.POST(`${TARGETS}/{id}/test`, { params: { path: { id } } })),
    onDone: ({ ok: isOk, detail }) =>
      void notify({
        message: isOk ? t('target.test.done', { name }) : t('target.test.failed', { name, detail }),
        tone: isOk ? 'good' : 'bad',
        closeLabel: t('ui:close'),
      }),
  });
}

/** Rules by which each kind of condition is an alert. */
function Rules() {
  const { t } = useTranslation('alerts');
  const { data, error } = useQuery(rulesQuery);
  return (
    <Section title={t('rule.title')} description={t('rule.hint')}>
      {error && !data && <ErrorState error={error} />}
      {!data && !error && <TableSkeleton rows={6} />}
      {data && (
        <ul className={classes.list} aria-label={t('rule.title')}>
          {data.data.map((rule) => (
            <li key={rule.kind}>
              <RuleLine rule={rule} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

function RuleLine({ rule }: { readonly rule: Rule }) {
  const { t } = useTranslation('alerts');
  const format = useFormat();
  const reason = useDisabledReason(OPERATOR);
  const { kind, enabled, forSeconds, threshold } = rule;
  const name = t(`rule.kind.${kind}`);
  const change = useAction({
    run: () => setRule({ ...rule, enabled: !enabled }),
    refresh: KEYS,
    done: t(enabled ? 'rule.off' : 'rule.on', { name }),
  });
  const when = [
    ...(threshold === null ? [] : [t(`rule.from.${kind}`, { value: threshold })]),
    ...(forSeconds === 0 ? [] : [t('rule.held', { time: format.duration(forSeconds) })]),
  ];
  return (
    <Group justify="space-between" gap="sm" wrap="nowrap">
      <Stack gap={2} style={{ minWidth: 0 }}>
        <Text size="sm" fw={500}>
          {name}
        </Text>
        <Text size="xs" c="dimmed">
          {when.length === 0 ? t('rule.atOnce') : when.join(' · ')}
        </Text>
      </Stack>
      <Group gap="xs" wrap="nowrap">
        <Switch
          checked={enabled}
          disabled={reason !== undefined || change.busy}
          onChange={() => change.run()}
          aria-label={t('rule.switch', { name })}
        />
        <EditIcon need={OPERATOR} label={t('rule.edit.label', { name })} dialog={<RuleDialog rule={rule} />} />
      </Group>
    </Group>
  );
}

/** The page of alerts: current problems, recipients, and the rules by which a condition is an alert. */
export function Page() {
  const { t } = useTranslation('alerts');
  return (
    <PageFrame title={t('title')} description={t('description')}>
      <AlertList />
      <Targets />
      <Rules />
    </PageFrame>
  );
}
