import { Alert, Group, NumberInput, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import {
  CircleCheck,
  CirclePlay,
  Coins,
  Lock,
  OctagonX,
  ReceiptText,
  Send,
  Wallet,
  Webhook as WebhookIcon,
} from 'lucide-react';
import { Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { moneyColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { confirm, openDialog, questionTexts } from '../ui/dialog.tsx';
import { ChoiceFilter } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { EmptyState, ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { choice, listFields, useUrlState } from '../ui/url-state.ts';
import { DateTime, Facts, Money, Num, Percent, Stat, StatusBadge } from '../ui/values.tsx';
import {
  ACCOUNT_KEYS,
  type AccountDetails,
  accountQuery,
  ACCOUNTS,
  LEDGER_KINDS,
  type LedgerEntry,
  listLedger,
  SwitchAccountButton,
} from './account.tsx';
import { AccountStatus, shareOf } from './accounts-columns.tsx';
import { OPERATOR } from './shared.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';

const FIELDS = { ...listFields('', 10), kind: choice(LEDGER_KINDS) };

/** The ledger of the account, newest entries first. */
function Ledger({ account: { id, currency, ledgerAgrees } }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useLedgerColumns(currency);
  const { page, limit, kind } = search;
  const query = useListQuery(['operator', 'accounts', 'ledger', id, search], (signal) =>
    listLedger(id, { page, limit, ...(kind && { kind }) }, signal),
  );
  return (
    <Section
      title={t('ledger.title')}
      description={t('ledger.description')}
      actions={
        <StatusBadge tone={ledgerAgrees ? 'good' : 'bad'}>
          {t(ledgerAgrees ? 'ledger.agrees' : 'ledger.differs')}
        </StatusBadge>
      }
    >
      <DataTable<LedgerEntry>
        id="operator-ledger"
        label={t('ledger.title')}
        columns={columns}
        query={query}
        rowId={(entry) => `${entry.id}${entry.from}${entry.to}`}
        search={search}
        onSearch={setSearch}
        toolbar={
          <ChoiceFilter
            label={t('ledger.anyKind')}
            options={LEDGER_KINDS.map((value) => ({ value, label: t(`ledger.kind.${value}`) }))}
            value={kind}
            onChange={(next) => setSearch({ kind: next })}
          />
        }
        empty={<EmptyState icon={ReceiptText} title={t('ledger.none.title')} text={t('ledger.none.text')} />}
      />
    </Section>
  );
}

function useLedgerColumns(currency: string): readonly Column<LedgerEntry>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      { id: 'at', header: t('ledger.at'), cell: ({ at }) => <DateTime value={at} show="exact" /> },
      { id: 'kind', header: t('ledger.what'), phone: 'title', cell: ({ kind }) => t(`ledger.kind.${kind}`) },
      { id: 'books', header: t('ledger.books'), phone: 'none', cell: ({ from, to }) => <Books from={from} to={to} /> },
      {
        id: 'messages',
        header: t('messages'),
        align: 'right',
        cell: ({ messages }) => <Num value={messages === 0 ? null : messages} />,
      },
      moneyColumn('amount', t('ledger.amount'), currency),
      {
        id: 'reference',
        header: t('ledger.reference'),
        phone: 'none',
        cell: ({ reference }) => <bdi>{reference || '–'}</bdi>,
      },
    ],
    [t, currency],
  );
}

function Books({ from, to }: Pick<LedgerEntry, 'from' | 'to'>) {
  const { t } = useTranslation('operator');
  return (
    <Text span size="sm" c="dimmed">
      {t(`ledger.book.${from}`)} → {t(`ledger.book.${to}`)}
    </Text>
  );
}

type Props = { readonly account: AccountDetails };

/** The account's users, API keys and allowed IP addresses. */
function Access({ account }: Props) {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('access.title')}>
      <Facts
        facts={[
          { label: t('access.people'), value: <People people={account.people} /> },
          { label: t('access.apiKeys'), value: <Num value={account.apiKeys} /> },
          { label: t('access.addresses'), value: <Addresses account={account} /> },
        ]}
      />
    </Section>
  );
}

function People({ people }: Pick<AccountDetails, 'people'>) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap={6}>
      {people.map(({ id, username, role, isOperator }) => (
        <Group key={id} gap="xs" justify="space-between">
          <bdi>{username}</bdi>
          <Text size="sm" c="dimmed">
            {t(`access.role.${role}`)}
            {isOperator && ` · ${t('access.isOperator')}`}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}

function Addresses({ account }: Props) {
  const { t } = useTranslation('operator');
  if (!account.allowListEnforced) return <span>{t('access.everyAddress')}</span>;
  return (
    <Stack gap="xs" align="flex-start">
      <Text size="sm" className="tabular" dir="ltr">
        {account.ipAllowList.join(', ')}
      </Text>
      <OpenToAll account={account} />
    </Stack>
  );
}

/** Button that clears the IP allowlist, for an owner who is locked out. */
function OpenToAll({ account: { id, name } }: Props) {
  const { t } = useTranslation('operator');
  const ask = (): void =>
    confirm({
      ...questionTexts(t, 'access.open', { name }),
      run: () => ok(api.PUT(`${ACCOUNTS}/{id}`, { params: { path: { id } }, body: { allowListEnforced: false } })),
      refresh: ACCOUNT_KEYS,
    });
  return (
    <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={ask}>
      {t('access.open.open')}
    </GuardedButton>
  );
}

/** The account's webhook and its status. */
function Webhook({ account: { id, webhook } }: Props) {
  const { t } = useTranslation('operator');
  if (webhook === null) return <None />;
  const tone = webhook.status === 'disabled' ? 'bad' : webhook.failingSince === null ? 'good' : 'warning';
  const state = webhook.status === 'active' && webhook.failingSince !== null ? 'failing' : webhook.status;
  return (
    <Section title={t('webhook.title')} actions={<StatusBadge tone={tone}>{t(`webhook.status.${state}`)}</StatusBadge>}>
      {webhook.status === 'disabled' && <Disabled id={id} reason={webhook.disabledReason} />}
      <Facts
        facts={[
          { label: t('webhook.url'), value: <bdi>{webhook.url}</bdi> },
          ...(webhook.failingSince === null
            ? []
            : [{ label: t('webhook.failingSince'), value: <DateTime value={webhook.failingSince} /> }]),
          { label: t('webhook.pending'), value: <Num value={webhook.pending} /> },
          { label: t('webhook.dead'), value: <Num value={webhook.dead} /> },
        ]}
      />
    </Section>
  );
}

function None() {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('webhook.title')}>
      <Muted>{t('webhook.none')}</Muted>
    </Section>
  );
}

function Disabled({ id, reason }: { readonly id: number; readonly reason: string | null }) {
  const { t } = useTranslation('operator');
  const enable = useAction({
    run: () => ok(api.POST(`${ACCOUNTS}/{id}/webhook/enable`, { params: { path: { id } } })),
    refresh: ACCOUNT_KEYS,
    done: t('webhook.enabled'),
  });
  return (
    <Alert color="red" icon={<WebhookIcon size={18} />}>
      <Stack gap="xs" align="flex-start">
        {reason ?? t('webhook.status.disabled')}
        <GuardedButton need={OPERATOR} size="xs" variant="default" loading={enable.busy} onClick={() => enable.run()}>
          {t('webhook.enable')}
        </GuardedButton>
      </Stack>
    </Alert>
  );
}

const SettingsForm = lazyPart(() =>
  import('./accounts-settings-form.tsx').then((file) => ({ default: file.SettingsForm })),
);

/** The page of one account. */
export function Page() {
  const { t } = useTranslation('operator');
  const { id = '' }: { readonly id?: string } = useParams({ strict: false });
  const { data, error, refetch } = useQuery(accountQuery(Number(id)));
  const trail = [{ label: t('account.title'), to: '/operator/accounts' }];
  if (data) return <Detail account={data} trail={trail} />;
  return (
    <PageFrame title={t('account.numbered', { id })} trail={trail}>
      {error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />}
    </PageFrame>
  );
}

type DetailProps = { readonly account: AccountDetails; readonly trail: readonly { label: string; to: string }[] };

function Detail({ account, trail }: DetailProps) {
  const { t } = useTranslation('operator');
  return (
    <PageFrame
      title={account.name}
      badge={<AccountStatus status={account.status} />}
      description={t('account.about', { id: account.id, plan: t(`app:plan.${account.plan}`) })}
      trail={trail}
      actions={
        <>
          <StatusButton account={account} />
          <TopUpButton account={account} />
          <SwitchAccountButton account={account} />
        </>
      }
    >
      <Figures account={account} />
      <SimpleGrid cols={{ base: 1, lg: 2 }} spacing="lg">
        <Suspense fallback={<TableSkeleton rows={8} />}>
          <SettingsForm account={account} />
        </Suspense>
        <Stack gap="lg">
          <Access account={account} />
          <Webhook account={account} />
        </Stack>
      </SimpleGrid>
      <Ledger account={account} />
    </PageFrame>
  );
}

/** Button that suspends or reactivates an account, after a confirmation. */
function StatusButton({ account: { id, name, status } }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const isOwn = useSession().ownAccountId === id && t('account.suspend.own');
  const isActive = status === 'active';
  const verb = isActive ? 'suspend' : 'activate';
  const ask = (): void =>
    confirm({
      ...questionTexts(t, `account.${verb}`, { name }),
      kind: isActive ? 'danger' : 'normal',
      run: () =>
        ok(
          api.PUT(`${ACCOUNTS}/{id}`, {
            params: { path: { id } },
            body: { status: isActive ? 'suspended' : 'active' },
          }),
        ),
      refresh: ACCOUNT_KEYS,
    });
  return (
    <GuardedButton
      need={OPERATOR}
      reason={isOwn}
      variant="default"
      leftSection={isActive ? <OctagonX size={16} /> : <CirclePlay size={16} />}
      onClick={ask}
    >
      {t(`account.${verb}.open`)}
    </GuardedButton>
  );
}

/** The account's credit, and its traffic in the last 24 hours. */
function Figures({ account }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { availableCredit, frozenCredit, currency, unlimited, last24h } = account;
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('account.available')}
        value={<Money amount={availableCredit} currency={currency} />}
        note={unlimited ? t('account.paysAfterwards') : t('account.availableNote')}
        icon={Wallet}
      />
      <Stat
        label={t('account.frozen')}
        value={<Money amount={frozenCredit} currency={currency} />}
        note={t('account.frozenNote')}
        icon={Lock}
      />
      <Stat
        label={t('account.sent24h')}
        value={<Num value={last24h.sent} />}
        note={t('account.spent', { amount: format.money(last24h.cost, currency) })}
        icon={Send}
      />
      <Stat
        label={t('account.delivered')}
        value={<Percent share={shareOf(last24h)} />}
        note={t('account.failed', { count: last24h.failed, shown: format.number(last24h.failed) })}
        icon={CircleCheck}
      />
    </SimpleGrid>
  );
}

/** Button that adds credit to an account. */
function TopUpButton({ account }: Props) {
  const { t } = useTranslation('operator');
  return (
    <GuardedButton
      need={OPERATOR}
      variant="default"
      leftSection={<Coins size={16} />}
      onClick={() => openDialog(<TopUpDialog account={account} />)}
    >
      {t('account.topUp.open')}
    </GuardedButton>
  );
}

/** Dialog for a top-up: amount and reference, with the resulting credit. */
function TopUpDialog({ account: { id, name, availableCredit, currency } }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return (
    <FormDialog
      title={t('account.topUp.title', { name })}
      size="md"
      values={{ amount: '', reference: '' }}
      validate={{ amount: (amount) => (Number(amount) > 0 ? null : t('account.topUp.amountMissing')) }}
      run={({ amount, reference }) =>
        ok(
          api.POST(`${ACCOUNTS}/{id}/credit`, {
            params: { path: { id } },
            body: { amount: Number(amount), ...(reference && { reference }) },
          }),
        )
      }
      refresh={[...ACCOUNT_KEYS, ['credit']]}
      done={(credit) => t('account.topUp.done', { amount: format.money(credit.availableCredit, credit.currency) })}
      action={t('account.topUp.submit')}
    >
      {(form) => (
        <>
          <NumberInput
            label={t('account.topUp.amount', { currency })}
            min={0}
            decimalScale={6}
            hideControls
            data-autofocus
            {...form.getInputProps('amount')}
          />
          <TextInput
            label={t('account.topUp.reference')}
            description={t('account.topUp.referenceHint')}
            maxLength={200}
            {...form.getInputProps('reference')}
          />
          <Text size="sm" c="dimmed" className="tabular">
            {t('account.topUp.change', {
              before: format.money(availableCredit, currency),
              after: format.money(availableCredit + Number(form.values.amount), currency),
            })}
          </Text>
        </>
      )}
    </FormDialog>
  );
}
