import { Radio, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ListRestart, ScrollText, Send, Webhook as WebhookIcon } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { GuardedButton, SecretOnce } from '../ui/actions.tsx';
import { DataTable, useListQuery } from '../ui/data-table.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { DeliveryPanel, ReplayButton, TestDialog, useDeliveryColumns } from './delivery-panel.tsx';
import { Endpoint, FORM_A, FORM_B, NEED, type Webhook, type WebhookAction, webhookQuery } from './endpoint.tsx';
import { type Delivery, isMessageId, KINDS, listDeliveries, PERIODS, ReplayDialog, STATES } from './replay-dialog.tsx';

type NewWebhook = { readonly callbackUrl: string; readonly form: string };

/**
 * Registers the webhook in either format. Format B names the URL field differently; its errors are mapped to the same
 * field.
 */
const register = async ({ callbackUrl, form }: NewWebhook): Promise<{ secret: string }> =>
  form === 'B'
    ? ok(api.POST(FORM_B, { body: { url: callbackUrl, method: 'POST' } }))
    : ok(api.POST(FORM_A, { body: { callbackUrl } }));

/** Dialog that registers the webhook. Its secret is shown once. */
function RegisterDialog() {
  const { t } = useTranslation('webhooks');
  return (
    <FormDialog
      title={t('register.title')}
      values={{ callbackUrl: '', form: 'A' }}
      validate={{ callbackUrl: (url) => (url.trim() === '' ? t('register.urlMissing') : null) }}
      run={register}
      refresh={[['webhooks']]}
      action={t('register.submit')}
      result={({ secret }) => <SecretOnce label={t('secret.label')} secret={secret} note={t('secret.note')} />}
      finish={t('secret.done')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('register.url')}
            description={t('register.urlHint')}
            placeholder="https://example.com/events"
            type="url"
            maxLength={2048}
            data-autofocus
            {...form.getInputProps('callbackUrl')}
          />
          <Radio.Group label={t('register.form')} {...form.getInputProps('form')}>
            <Stack gap="sm" mt="xs">
              {(['A', 'B'] as const).map((each) => (
                <Radio
                  key={each}
                  value={each}
                  label={t(`form.${each}.title`)}
                  description={t(`form.${each}.text`, { kinds: KINDS.join(', ') })}
                />
              ))}
            </Stack>
          </Radio.Group>
        </>
      )}
    </FormDialog>
  );
}

const FIELDS = {
  ...listFields('', 10),
  status: choice(STATES),
  kind: choice(KINDS),
  period: choice(PERIODS),
  message: text(),
  event: text(),
};
const REFRESH_MS = 5_000;

/** The log of all events. */
function Deliveries({ isRegistered }: { readonly isRegistered: boolean }) {
  const { t } = useTranslation('webhooks');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useDeliveryColumns((event) => setSearch({ event, page: search.page }));
  const { event, ...filters } = search;
  const query = useListQuery(['webhooks', 'deliveries', filters], (signal) => listDeliveries(filters, signal), {
    refetchInterval: REFRESH_MS,
  });
  const isFiltered = [search.status, search.kind, search.period, search.message].some((each) => each !== '');
  if (!isRegistered && !isFiltered && query.data?.total === 0) return null;
  const replay = (
    <GuardedButton
      need={NEED}
      reason={!isRegistered && t('replay.none')}
      variant="default"
      size="xs"
      leftSection={<ListRestart size={14} />}
      onClick={() => openDialog(<ReplayDialog />)}
    >
      {t('replay.open')}
    </GuardedButton>
  );
  return (
    <Section title={t('log.title')} description={t('log.description')} actions={replay}>
      <DeliveryFilters search={search} onSearch={setSearch} isFiltered={isFiltered} />
      <DataTable<Delivery>
        id="webhook-deliveries"
        label={t('log.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        onRowClick={({ id }) => setSearch({ event: id, page: search.page })}
        actions={(delivery) => <ReplayButton delivery={delivery} isRegistered={isRegistered} />}
        empty={
          <EmptyState
            icon={ScrollText}
            title={t(isFiltered ? 'log.noMatch' : 'log.empty')}
            text={t(isFiltered ? 'log.noMatchText' : 'log.emptyText')}
          />
        }
      />
      <DeliveryPanel
        id={event === '' ? null : event}
        isRegistered={isRegistered}
        onClose={() => setSearch({ event: '', page: search.page })}
      />
    </Section>
  );
}

/** The webhook page: the endpoint and the event log. */
export function Page() {
  const { t } = useTranslation('webhooks');
  const { data: webhook, error, refetch } = useQuery(webhookQuery);
  const act = (action: WebhookAction, { callbackUrl }: Webhook): void => {
    if (action === 'address') return openDialog(<AddressDialog callbackUrl={callbackUrl} />);
    if (action === 'rotate') return openDialog(<RotateDialog />);
    confirm({
      ...questionTexts(t, 'delete', { host: new URL(callbackUrl).host }),
      run: () => ok(api.DELETE(FORM_A)),
      refresh: [['webhooks']],
    });
  };
  return (
    <PageFrame title={t('title')} description={t('description')} actions={webhook && <TestButton webhook={webhook} />}>
      {webhook === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {webhook === undefined && error === null && <TableSkeleton rows={4} />}
      {webhook === null && <Nothing />}
      {webhook && <Endpoint webhook={webhook} onAction={(action) => act(action, webhook)} />}
      {webhook !== undefined && <Deliveries isRegistered={webhook !== null} />}
    </PageFrame>
  );
}

function TestButton({ webhook }: { readonly webhook: Webhook }) {
  const { t } = useTranslation('webhooks');
  return (
    <GuardedButton
      need={NEED}
      leftSection={<Send size={16} />}
      onClick={() => openDialog(<TestDialog webhook={webhook} />)}
    >
      {t('test.open')}
    </GuardedButton>
  );
}

function Nothing() {
  const { t } = useTranslation('webhooks');
  return (
    <EmptyState icon={WebhookIcon} title={t('empty.title')} text={t('empty.text')} help="api#webhooks">
      <GuardedButton need={NEED} onClick={() => openDialog(<RegisterDialog />)}>
        {t('register.open')}
      </GuardedButton>
    </EmptyState>
  );
}

type Filters = {
  readonly status: (typeof STATES)[number] | '';
  readonly kind: (typeof KINDS)[number] | '';
  readonly period: (typeof PERIODS)[number] | '';
  readonly message: string;
};
type DeliveryFiltersProps = {
  readonly search: Filters;
  readonly onSearch: (patch: Partial<Filters>) => void;
  readonly isFiltered: boolean;
};

/** The filters of the event log. */
function DeliveryFilters({ search, onSearch, isFiltered }: DeliveryFiltersProps) {
  const { t } = useTranslation('webhooks');
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={() => onSearch({ status: '', kind: '', period: '', message: '' })}>
        <ChoiceFilter
          label={t('filter.status')}
          options={STATES.map((value) => ({ value, label: t(`deliveryState.${value}`) }))}
          value={search.status}
          onChange={(status) => onSearch({ status })}
        />
        <ChoiceFilter
          label={t('filter.kind')}
          options={KINDS.map((value) => ({ value, label: t(`kind.${value}`, value) }))}
          value={search.kind}
          onChange={(kind) => onSearch({ kind })}
        />
        <ChoiceFilter
          label={t('filter.period')}
          options={PERIODS.map((value) => ({ value, label: t(`period.${value}`) }))}
          value={search.period}
          onChange={(period) => onSearch({ period })}
        />
        <SearchField
          label={t('filter.message')}
          value={search.message}
          onChange={(message) => onSearch({ message: message.trim() })}
        />
      </FilterBar>
      {search.message !== '' && !isMessageId(search.message) && (
        <Text size="xs" c="dimmed" role="status">
          {t('filter.messageHint')}
        </Text>
      )}
    </>
  );
}

/** Dialog that changes the webhook URL; the secret and the event format stay the same. */
function AddressDialog({ callbackUrl }: Pick<Webhook, 'callbackUrl'>) {
  const { t } = useTranslation('webhooks');
  return (
    <FormDialog
      title={t('address.title')}
      values={{ callbackUrl }}
      run={(body) => ok(api.PUT(FORM_A, { body }))}
      refresh={[['webhooks']]}
      done={t('address.done')}
      action={t('address.submit')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('register.url')}
            description={t('register.urlHint')}
            type="url"
            maxLength={2048}
            data-autofocus
            {...form.getInputProps('callbackUrl')}
          />
          <Text size="sm" c="dimmed">
            {t('address.text')}
          </Text>
        </>
      )}
    </FormDialog>
  );
}

/** Dialog that rotates the webhook's secret; both secrets sign events for a day. */
function RotateDialog() {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  return (
    <FormDialog
      title={t('rotate.title')}
      values={{}}
      run={() => ok(api.POST(`${FORM_A}/secret`))}
      refresh={[['webhooks']]}
      action={t('rotate.submit')}
      result={({ secret, previousSecretUntil }) => {
        const until = previousSecretUntil === null ? '' : format.brief(new Date(previousSecretUntil));
        return <SecretOnce label={t('secret.label')} secret={secret} note={t('rotate.note', { until })} />;
      }}
      finish={t('secret.done')}
    >
      {() => <Text size="sm">{t('rotate.text')}</Text>}
    </FormDialog>
  );
}
