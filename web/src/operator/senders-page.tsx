import { Group, Stack, TextInput } from '@mantine/core';
import { PhoneIncoming } from 'lucide-react';
import { Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState, whole } from '../ui/url-state.ts';
import { DateTime, MsisdnText } from '../ui/values.tsx';
import { AccountChoice } from './account.tsx';
import { ConnectionChoice, ConnectionFilterBar } from './connection-choice.tsx';
import { type InboundNumber, listNumbers, NUMBERS, SENDER_KEYS, Senders, Templates } from './senders-templates.tsx';
import { AccountLink, ConnectionLink, OPERATOR, Tabs } from './shared.tsx';

const NUMBER_FIELDS = { ...listFields(), connection: text() };

/** The inbound numbers and their accounts. */
function Numbers() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(NUMBER_FIELDS);
  const columns = useNumberColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(['operator', 'senders', 'numbers', search], (signal) =>
    listNumbers({ page, limit, ...(connection && { connection }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => openDialog(<NumberDialog />)}>
      {t('inbound.add.open')}
    </AddButton>
  );
  return (
    <Stack gap="lg">
      <Group justify="space-between" align="flex-end">
        <ConnectionFilterBar value={connection} onChange={(next) => setSearch({ connection: next })} />
        {add}
      </Group>
      <DataTable<InboundNumber>
        id="operator-numbers"
        label={t('sender.tab.numbers')}
        columns={columns}
        query={query}
        rowId={({ number, connection: of }) => `${of} ${number}`}
        search={search}
        onSearch={setSearch}
        actions={(number) => <RemoveNumber number={number} />}
        empty={
          <EmptyState icon={PhoneIncoming} title={t('inbound.none.title')} text={t('inbound.none.text')}>
            {add}
          </EmptyState>
        }
      />
    </Stack>
  );
}

function useNumberColumns(): readonly Column<InboundNumber>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'number',
        header: t('inbound.number'),
        phone: 'title',
        cell: ({ number }) => (number === '*' ? t('inbound.every') : <MsisdnText number={number} />),
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      {
        id: 'account',
        header: t('account.word'),
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'createdAt', header: t('inbound.since'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}

/** Dialog that assigns an inbound number to an account. */
function NumberDialog() {
  const { t } = useTranslation('operator');
  return (
    <FormDialog
      title={t('inbound.add.title')}
      values={{ number: '', connection: '', accountId: '' }}
      validate={{
        number: (number) => (number.trim() === '' ? t('wizard.missing') : null),
        connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
        accountId: (id) => (id === '' ? t('sender.assign.accountMissing') : null),
      }}
      run={({ accountId, ...rest }) => ok(api.POST(NUMBERS, { body: { ...rest, accountId: Number(accountId) } }))}
      refresh={SENDER_KEYS}
      done={t('inbound.add.done')}
      action={t('inbound.add.submit')}
    >
      {(form) => (
        <>
          <ConnectionChoice {...form.getInputProps('connection')} />
          <TextInput
            label={t('inbound.number')}
            description={t('inbound.numberHint')}
            dir="ltr"
            maxLength={21}
            autoComplete="off"
            {...form.getInputProps('number')}
          />
          <AccountChoice label={t('account.word')} {...form.getInputProps('accountId')} />
        </>
      )}
    </FormDialog>
  );
}

function RemoveNumber({ number: { number, connection, account } }: { readonly number: InboundNumber }) {
  const { t } = useTranslation('operator');
  const of = { number: number === '*' ? t('inbound.every') : number, account };
  return (
    <DeleteIcon
      need={OPERATOR}
      label={t('inbound.remove.label', of)}
      question={{
        ...questionTexts(t, 'inbound.remove', of),
        run: () => ok(api.DELETE(NUMBERS, { params: { query: { number, connection } } })),
        refresh: SENDER_KEYS,
      }}
    />
  );
}

const Pools = lazyPart(() => import('./sender-rules-pools.tsx').then((file) => ({ default: file.Pools })));
const SenderRules = lazyPart(() => import('./sender-rules-rules.tsx').then((file) => ({ default: file.SenderRules })));

const TABS = ['senders', 'numbers', 'rules', 'pools', 'templates'] as const;
/** Includes `page`, so that changing the tab starts at the first page. */
const FIELDS = { tab: choice(TABS, 'senders'), page: whole() };
const PANELS = { senders: Senders, numbers: Numbers, rules: SenderRules, pools: Pools, templates: Templates };

/** The page of senders, inbound numbers, rules for senders, pools and templates. */
export function Page() {
  const { t } = useTranslation('operator');
  const [{ tab }, setSearch] = useUrlState(FIELDS);
  const Panel = PANELS[tab];
  return (
    <PageFrame title={t('sender.title')} description={t('sender.description')}>
      <Tabs
        tabs={TABS}
        nameOf={(each) => t(`sender.tab.${each}`)}
        active={tab}
        onChange={(next) => setSearch({ tab: next })}
      >
        <Suspense>
          <Panel />
        </Suspense>
      </Tabs>
    </PageFrame>
  );
}
