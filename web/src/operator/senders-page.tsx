import { Group, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { PhoneIncoming, Trash2 } from 'lucide-react';
import { Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { type Column, DataTable } from '../ui/data-table.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { EmptyState, PageFrame } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState, whole } from '../ui/url-state.ts';
import { useListQuery } from '../ui/use-list-query.ts';
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
  const [isAdding, setIsAdding] = useState(false);
  const columns = useNumberColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(['operator', 'senders', 'numbers', search], (signal) =>
    listNumbers({ page, limit, ...(connection && { connection }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setIsAdding(true)}>
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
      <NumberDialog opened={isAdding} onClose={() => setIsAdding(false)} />
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

type DialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that assigns an inbound number to an account. */
function NumberDialog({ opened, onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('inbound.add.title')}>
      {opened && <Assign onClose={onClose} />}
    </Dialog>
  );
}

type Values = { readonly number: string; readonly connection: string; readonly accountId: string };

function Assign({ onClose }: Pick<DialogProps, 'onClose'>) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { number: '', connection: '', accountId: '' },
    validate: {
      number: (number) => (number.trim() === '' ? t('wizard.missing') : null),
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
      accountId: (id) => (id === '' ? t('sender.assign.accountMissing') : null),
    },
  });
  const assigning = useAction({
    run: ({ accountId, ...rest }: Values) => ok(api.POST(NUMBERS, { body: { ...rest, accountId: Number(accountId) } })),
    refresh: SENDER_KEYS,
    done: t('inbound.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => assigning.run(values))}
      action={t('inbound.add.submit')}
      busy={assigning.busy}
      onClose={onClose}
    >
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
    </DialogForm>
  );
}

function RemoveNumber({ number: { number, connection, account } }: { readonly number: InboundNumber }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = { number: number === '*' ? t('inbound.every') : number, account };
  const remove = useAction({
    run: () => ok(api.DELETE(NUMBERS, { params: { query: { number, connection } } })),
    refresh: SENDER_KEYS,
    done: t('inbound.remove.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('inbound.remove.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('inbound.remove.title', of)}
        action={t('inbound.remove.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('inbound.remove.text')}
      </ConfirmDialog>
    </>
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
