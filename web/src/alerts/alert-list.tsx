import { NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Check, CircleCheckBig } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { GuardedButton } from '../ui/actions/guarded-button.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { FilterBar } from '../ui/filter-bar.tsx';
import { TextLink } from '../ui/link.tsx';
import { type Column, DataTable } from '../ui/table/data-table.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime } from '../ui/values/date-time.tsx';
import { StatusBadge, type Tone } from '../ui/values/status-badge.tsx';
import { type Alert, ALERTS, alertsQuery, KEYS, OPERATOR } from './alert.ts';
import { placeOf } from './place.ts';

const STATES = ['open', 'resolved'] as const;
const FIELDS = { ...listFields(), state: choice(STATES, 'open') };

/** The open alerts, or the resolved ones. */
export function AlertList() {
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
