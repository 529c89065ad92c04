import { Button, Group, Radio, Stack, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { ListRestart, ScrollText, Send, Webhook as WebhookIcon } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton, SecretOnce } from '../ui/actions.tsx';
import { DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogButtons, DialogForm } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, PageFrame, Section } from '../ui/parts.tsx';
import { TableSkeleton } from '../ui/table-skeleton.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
import { DeliveryPanel, ReplayButton, TestDialog, useDeliveryColumns } from './delivery-panel.tsx';
import { Endpoint, FORM_A, FORM_B, NEED, type Webhook, type WebhookAction, webhookQuery } from './endpoint.tsx';
import { type Delivery, isMessageId, KINDS, listDeliveries, PERIODS, ReplayDialog, STATES } from './replay-dialog.tsx';

type RegisterDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that registers the webhook. Its secret is shown once and forgotten when the dialog closes. */
function RegisterDialog({ opened, onClose }: RegisterDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('register.title')}>
      {opened && <Register onClose={onClose} />}
    </Dialog>
  );
}

type NewWebhook = { readonly callbackUrl: string; readonly form: string };

/**
 * Registers the webhook in either format. Format B names the URL field differently; its errors are mapped to the same
 * field.
 */
const register = async ({ callbackUrl, form }: NewWebhook): Promise<{ secret: string }> =>
  form === 'B'
    ? ok(api.POST(FORM_B, { body: { url: callbackUrl, method: 'POST' } }))
    : ok(api.POST(FORM_A, { body: { callbackUrl } }));

function Register({ onClose }: Pick<RegisterDialogProps, 'onClose'>) {
  const { t } = useTranslation('webhooks');
  const form = useForm<NewWebhook>({
    initialValues: { callbackUrl: '', form: 'A' },
    validate: { callbackUrl: (url) => (url.trim() === '' ? t('register.urlMissing') : null) },
  });
  const create = useAction({ run: register, refresh: [['webhooks']], form });
  if (create.result !== undefined) return <NewSecret secret={create.result.secret} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => create.run(values))}
      action={t('register.submit')}
      busy={create.busy}
      onClose={onClose}
    >
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
    </DialogForm>
  );
}

type NewSecretProps = { readonly secret: string; readonly note?: string; readonly onClose: () => void };

/** A new secret with a note about its use. */
function NewSecret({ secret, note, onClose }: NewSecretProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Stack>
      <SecretOnce label={t('secret.label')} secret={secret} note={note ?? t('secret.note')} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('secret.done')}</Button>
      </Group>
    </Stack>
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
  const [isReplaying, setIsReplaying] = useState(false);
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
      onClick={() => setIsReplaying(true)}
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
      <ReplayDialog opened={isReplaying} onClose={() => setIsReplaying(false)} />
    </Section>
  );
}

/** The webhook page: the endpoint and the event log. */
export function Page() {
  const { t } = useTranslation('webhooks');
  const { data: webhook, error, refetch } = useQuery(webhookQuery);
  const [open, setOpen] = useState<WebhookAction | 'register' | null>(null);
  const close = (): void => setOpen(null);
  return (
    <PageFrame
      title={t('title')}
      description={t('description')}
      actions={webhook && <TestButton onClick={() => setOpen('test')} />}
    >
      {webhook === undefined && error !== null && <ErrorState error={error} onRetry={() => void refetch()} />}
      {webhook === undefined && error === null && <TableSkeleton rows={4} />}
      {webhook === null && <Nothing onRegister={() => setOpen('register')} />}
      {webhook && <Endpoint webhook={webhook} onAction={setOpen} />}
      {webhook !== undefined && <Deliveries isRegistered={webhook !== null} />}
      <RegisterDialog opened={open === 'register'} onClose={close} />
      {webhook && <Dialogs webhook={webhook} open={open} onClose={close} />}
    </PageFrame>
  );
}

type DialogsProps = { readonly webhook: Webhook; readonly open: string | null; readonly onClose: () => void };

function Dialogs({ webhook, open, onClose }: DialogsProps) {
  return (
    <>
      <TestDialog webhook={webhook} opened={open === 'test'} onClose={onClose} />
      <AddressDialog webhook={webhook} opened={open === 'address'} onClose={onClose} />
      <RotateDialog opened={open === 'rotate'} onClose={onClose} />
      <DeleteDialog webhook={webhook} opened={open === 'delete'} onClose={onClose} />
    </>
  );
}

function TestButton({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation('webhooks');
  return (
    <GuardedButton need={NEED} leftSection={<Send size={16} />} onClick={onClick}>
      {t('test.open')}
    </GuardedButton>
  );
}

function Nothing({ onRegister }: { readonly onRegister: () => void }) {
  const { t } = useTranslation('webhooks');
  return (
    <EmptyState icon={WebhookIcon} title={t('empty.title')} text={t('empty.text')} help="api#webhooks">
      <GuardedButton need={NEED} onClick={onRegister}>
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

type AddressDialogProps = { readonly webhook: Webhook; readonly opened: boolean; readonly onClose: () => void };

/** Dialog that changes the webhook URL; the secret and the event format stay the same. */
function AddressDialog({ webhook, opened, onClose }: AddressDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('address.title')}>
      {opened && <Address webhook={webhook} onClose={onClose} />}
    </Dialog>
  );
}

function Address({ webhook, onClose }: Omit<AddressDialogProps, 'opened'>) {
  const { t } = useTranslation('webhooks');
  const form = useForm({ initialValues: { callbackUrl: webhook.callbackUrl } });
  const change = useAction({
    run: (body: { callbackUrl: string }) => ok(api.PUT(FORM_A, { body })),
    refresh: [['webhooks']],
    done: t('address.done'),
    onDone: onClose,
    form,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => change.run(values))}
      action={t('address.submit')}
      busy={change.busy}
      onClose={onClose}
    >
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
    </DialogForm>
  );
}

type RotateDialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that rotates the webhook's secret; both secrets sign events for a day. */
function RotateDialog({ opened, onClose }: RotateDialogProps) {
  const { t } = useTranslation('webhooks');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('rotate.title')}>
      {opened && <Rotate onClose={onClose} />}
    </Dialog>
  );
}

function Rotate({ onClose }: Pick<RotateDialogProps, 'onClose'>) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  const rotate = useAction({ run: () => ok(api.POST(`${FORM_A}/secret`)), refresh: [['webhooks']] });
  if (rotate.result !== undefined) {
    const { secret, previousSecretUntil } = rotate.result;
    const until = previousSecretUntil === null ? '' : format.brief(new Date(previousSecretUntil));
    return <NewSecret secret={secret} note={t('rotate.note', { until })} onClose={onClose} />;
  }
  return (
    <Stack>
      <Text size="sm">{t('rotate.text')}</Text>
      <DialogButtons onClose={onClose} action={t('rotate.submit')} busy={rotate.busy} onConfirm={() => rotate.run()} />
    </Stack>
  );
}

type DeleteDialogProps = { readonly webhook: Webhook; readonly opened: boolean; readonly onClose: () => void };

/** Confirms that the webhook and its pending events are deleted. */
function DeleteDialog({ webhook, opened, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('webhooks');
  const remove = useAction({
    run: () => ok(api.DELETE(FORM_A)),
    refresh: [['webhooks']],
    done: t('delete.done'),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('delete.title', { host: new URL(webhook.callbackUrl).host })}
      action={t('delete.submit')}
      onConfirm={() => remove.run()}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}
