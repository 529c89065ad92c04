import { Group, Stack, Text, TextInput } from '@mantine/core';
import { AtSign, BadgeCheck, LayoutTemplate } from 'lucide-react';
import { type ReactNode, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, GuardedButton } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { DialogWhile, openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { ChannelBadge, DateTime, StatusBadge, type Tone } from '../ui/values.tsx';
import { AccountChoice } from './account.tsx';
import { ConnectionChoice } from './connection-choice.tsx';
import { AccountLink, ConnectionLink, OPERATOR, useServerText } from './shared.tsx';

type Props = { readonly sender: Sender };

function SenderActions({ sender }: Props) {
  const { t } = useTranslation('operator');
  const name = sender.name || sender.identity || t('sender.noName');
  return (
    <>
      {sender.identity === null && (
        <GuardedButton
          need={OPERATOR}
          size="xs"
          leftSection={<BadgeCheck size={14} />}
          onClick={() => openDialog(<RegisterDialog id={sender.id} name={name} />)}
        >
          {t('sender.register.open')}
        </GuardedButton>
      )}
      <DeleteIcon
        need={OPERATOR}
        label={t('sender.remove.label', { name })}
        question={{
          ...questionTexts(t, 'sender.remove', { name }),
          run: () => ok(api.DELETE(`${SENDERS}/{id}`, { params: { path: { id: sender.id } } })),
          refresh: SENDER_KEYS,
        }}
      />
    </>
  );
}

/** Dialog that registers a requested agent with its ID at Google. */
function RegisterDialog({ id, name }: { readonly id: Sender['id']; readonly name: string }) {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('sender.register.title', { name })}
      size="md"
      values={{ identity: '', connection: '' }}
      validate={{
        identity: (identity) => (identity.trim() === '' ? t('wizard.missing') : null),
        connection: (each) => (each === '' ? t('route.add.connectionMissing') : null),
      }}
      run={(body) => ok(api.POST(`${SENDERS}/{id}/register`, { params: { path: { id } }, body }))}
      refresh={SENDER_KEYS}
      done={t('sender.register.done')}
      action={t('sender.register.submit')}
    >
      {(form) => (
        <>
          <Text size="sm">{t('sender.register.text')}</Text>
          <ConnectionChoice channel="RCS" {...form.getInputProps('connection')} />
          <TextInput label={t('sender.identity')} dir="ltr" maxLength={128} {...form.getInputProps('identity')} />
        </>
      )}
    </FormDialog>
  );
}

const EVERY = 'every';

/** Dialog that assigns a WhatsApp number or an RCS agent to an account, or to all. */
function AssignDialog({ connection }: { readonly connection: string }) {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('sender.assign.title')}
      values={{ identity: '', connection, name: '', accountId: '' }}
      validate={{
        identity: (identity) => (identity.trim() === '' ? t('wizard.missing') : null),
        connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
        accountId: (id) => (id === '' ? t('sender.assign.accountMissing') : null),
      }}
      run={({ accountId, identity, ...rest }) =>
        ok(
          api.POST(SENDERS, {
            body: { ...rest, identity: identity.trim(), accountId: accountId === EVERY ? null : Number(accountId) },
          }),
        )
      }
      refresh={SENDER_KEYS}
      done={t('sender.assign.done')}
      action={t('sender.assign.submit')}
    >
      {(form) => (
        <>
          <ConnectionChoice routedBy="sender" {...form.getInputProps('connection')} />
          <TextInput
            label={t('sender.identity')}
            description={t('sender.identityHint')}
            maxLength={128}
            dir="ltr"
            autoComplete="off"
            {...form.getInputProps('identity')}
          />
          <TextInput
            label={t('sender.shownName')}
            description={t('sender.shownNameHint')}
            maxLength={200}
            {...form.getInputProps('name')}
          />
          <AccountChoice
            label={t('account.word')}
            also={{ value: EVERY, label: t('sender.everyAccount') }}
            {...form.getInputProps('accountId')}
          />
        </>
      )}
    </FormDialog>
  );
}

type Search = { readonly search: string; readonly channel: (typeof NETWORKS)[number] | '' };

type NetworkFiltersProps = {
  /** The label of the search field. */
  readonly label: string;
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  /** Additional filters of this list. */
  readonly children?: ReactNode;
  readonly isFiltered?: boolean;
  readonly onClear: () => void;
};

/** The filters by text and by network. */
function NetworkFilters({ label, search, onSearch, isFiltered, onClear, children }: NetworkFiltersProps) {
  const { t } = useTranslation('operator');
  return (
    <FilterBar isFiltered={isFiltered || search.channel !== '' || search.search !== ''} onClear={onClear}>
      <SearchField label={label} value={search.search} onChange={(next) => onSearch({ search: next })} />
      <ChoiceFilter
        label={t('anyChannel')}
        options={NETWORKS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
        value={search.channel}
        onChange={(next) => onSearch({ channel: next })}
      />
      {children}
    </FilterBar>
  );
}

const SENDERS = '/api/operator/v1/senders';
export const NUMBERS = '/api/operator/v1/numbers';
const NETWORKS = ['WHATSAPP', 'RCS'] as const;

type Page = { readonly page: number; readonly limit: number };
type Network = (typeof NETWORKS)[number];

const listSenders = (query: Page & { channel?: Network; search?: string }, signal: AbortSignal) =>
  ok(api.GET(SENDERS, { params: { query }, signal }));
type Sender = Awaited<ReturnType<typeof listSenders>>['data'][number];

export const listNumbers = (query: Page & { connection?: string }, signal: AbortSignal) =>
  ok(api.GET(NUMBERS, { params: { query }, signal }));
export type InboundNumber = Awaited<ReturnType<typeof listNumbers>>['data'][number];

type TemplateFilter = { readonly channel?: Network; readonly status?: string; readonly search?: string };
const listTemplates = (query: Page & TemplateFilter, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/templates', { params: { query }, signal }));
type Template = Awaited<ReturnType<typeof listTemplates>>['data'][number];

export const SENDER_KEYS = [
  ['operator', 'senders'],
  ['operator', 'connections'],
  ['operator', 'overview'],
] as const;

const STATUSES = ['APPROVED', 'PENDING', 'REJECTED', 'PAUSED', 'DISABLED'] as const;
const TONES: Readonly<Record<string, Tone>> = {
  APPROVED: 'good',
  PENDING: 'progress',
  REJECTED: 'bad',
  PAUSED: 'paused',
  DISABLED: 'bad',
};
const FIELDS = { ...listFields(), channel: choice(NETWORKS), status: choice(STATUSES), search: text() };

/** The templates of all accounts, last changed first. */
export function Templates() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useTemplateColumns();
  const { page, limit, channel, status } = search;
  const query = useListQuery(['operator', 'senders', 'templates', search], (signal) =>
    listTemplates(
      {
        page,
        limit,
        ...(channel && { channel }),
        ...(status && { status }),
        ...(search.search && { search: search.search }),
      },
      signal,
    ),
  );
  return (
    <Stack gap="lg">
      <NetworkFilters
        label={t('template.search')}
        search={search}
        onSearch={setSearch}
        isFiltered={status !== ''}
        onClear={() => setSearch({ channel: '', status: '', search: '' })}
      >
        <ChoiceFilter
          label={t('template.anyStatus')}
          options={STATUSES.map((value) => ({ value, label: t(`template.status.${value}`) }))}
          value={status}
          onChange={(next) => setSearch({ status: next })}
        />
      </NetworkFilters>
      <DataTable<Template>
        id="operator-templates"
        label={t('sender.tab.templates')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={LayoutTemplate} title={t('template.none.title')} text={t('template.none.text')} />}
      />
    </Stack>
  );
}

function useTemplateColumns(): readonly Column<Template>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'name', header: t('template.name'), phone: 'title', cell: (template) => <Name template={template} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'status', header: t('state'), cell: (template) => <Status template={template} /> },
      { id: 'account', header: t('account.word'), cell: (template) => <Owner owner={template} /> },
      { id: 'updatedAt', header: t('template.updatedAt'), cell: ({ updatedAt }) => <DateTime value={updatedAt} /> },
    ],
    [t],
  );
}

const Name = ({ template: { name, language, category } }: { readonly template: Template }) => (
  <Stack gap={0}>
    <bdi>{name}</bdi>
    <Text size="xs" c="dimmed" fw={400}>
      {[language, category.toLowerCase()].filter(Boolean).join(' · ')}
    </Text>
  </Stack>
);

function Status({ template: { status, reason } }: { readonly template: Template }) {
  const serverText = useServerText();
  return (
    <Stack gap={2} align="flex-start">
      <StatusBadge tone={TONES[status] ?? 'neutral'}>{serverText(`template.status.${status}`, status)}</StatusBadge>
      {reason !== null && (
        <Text size="xs" c="dimmed" className="foreign-text">
          {reason}
        </Text>
      )}
    </Stack>
  );
}

const SENDER_FIELDS = { ...listFields(), channel: choice(NETWORKS), search: text(), add: text() };

/** The WhatsApp numbers and RCS agents; those waiting to be registered come first. */
export function Senders() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(SENDER_FIELDS);
  const [isAdding, setIsAdding] = useState(search.add !== '');
  const columns = useSenderColumns();
  const { page, limit, channel } = search;
  const query = useListQuery(['operator', 'senders', 'list', search], (signal) =>
    listSenders({ page, limit, ...(channel && { channel }), ...(search.search && { search: search.search }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
      {t('sender.assign.open')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end">
        <NetworkFilters
          label={t('sender.search')}
          search={search}
          onSearch={setSearch}
          onClear={() => setSearch({ channel: '', search: '' })}
        />
        {add}
      </Group>
      <DataTable<Sender>
        id="operator-senders"
        label={t('sender.tab.senders')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(sender) => <SenderActions sender={sender} />}
        empty={
          <EmptyState icon={AtSign} title={t('sender.none.title')} text={t('sender.none.text')}>
            {add}
          </EmptyState>
        }
      />
      <DialogWhile opened={isAdding} onClose={() => setIsAdding(false)}>
        <AssignDialog connection={search.add} />
      </DialogWhile>
    </Stack>
  );
}

function useSenderColumns(): readonly Column<Sender>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'name', header: t('sender.name'), phone: 'title', cell: (sender) => <SenderName sender={sender} /> },
      { id: 'channel', header: t('channel'), cell: ({ channel }) => <ChannelBadge channel={channel} /> },
      { id: 'account', header: t('account.word'), cell: (sender) => <Owner owner={sender} /> },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
    ],
    [t],
  );
}

function SenderName({ sender: { name, identity } }: { readonly sender: Sender }) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap={2} align="flex-start">
      <bdi>{name || identity || t('sender.noName')}</bdi>
      {identity === null ? (
        <StatusBadge tone="warning">{t('sender.asked')}</StatusBadge>
      ) : (
        <Text size="xs" c="dimmed" fw={400} className="tabular">
          {identity}
        </Text>
      )}
    </Stack>
  );
}

/** The account of an item, or "All accounts". */
function Owner({
  owner: { accountId, account },
}: {
  readonly owner: { readonly accountId: number | null; readonly account: string | null };
}) {
  const { t } = useTranslation('operator');
  return accountId === null ? (
    <span>{t('sender.everyAccount')}</span>
  ) : (
    <AccountLink id={accountId} name={account ?? String(accountId)} />
  );
}
