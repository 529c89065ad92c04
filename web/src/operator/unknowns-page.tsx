import { Alert, Radio, Stack, Text } from '@mantine/core';
import { CircleCheckBig, Gavel, Info } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { numberColumn } from '../ui/columns.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { EmptyState, Muted, PageFrame } from '../ui/parts.tsx';
import { useRowSelection } from '../ui/table.tsx';
import { listFields, text, useUrlState } from '../ui/url-state.ts';
import { DateTime, MsisdnText } from '../ui/values.tsx';
import { ConnectionFilterBar } from './connection-choice.tsx';
import { AccountLink, ConnectionLink, OPERATOR, REFRESH_MS } from './shared.tsx';

const FIELDS = { ...listFields(), connection: text() };
const NONE: ReadonlySet<string> = new Set();

/** The page of messages with an unknown outcome. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const [selected, setSelected] = useState(NONE);
  const columns = useUnknownColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(
    ['operator', 'unknowns', search],
    (signal) => listUnknowns({ page, limit, ...(connection && { connection }) }, signal),
    { refetchInterval: REFRESH_MS * 2 },
  );
  const settleAll = (messageIds: readonly string[]): void =>
    openDialog(<SettleDialog messageIds={messageIds} onDone={() => setSelected(NONE)} />);
  const shown = (query.data?.data ?? []).map(({ messageId }) => messageId);
  const selection = useRowSelection({ shown, selected, onSelect: setSelected });
  return (
    <PageFrame title={t('unknown.title')} description={t('unknown.description')}>
      <ConnectionFilterBar value={connection} onChange={(next) => setSearch({ connection: next })} />
      {(query.data?.total ?? 0) > 0 && (
        <Alert color="blue" icon={<Info size={18} />}>
          {t('unknown.wait')}
        </Alert>
      )}
      <DataTable<Unknown>
        id="operator-unknowns"
        label={t('unknown.title')}
        columns={columns}
        query={query}
        rowId={({ messageId }) => messageId}
        search={search}
        onSearch={setSearch}
        selection={selection}
        toolbar={<Toolbar count={selected.size} onSettle={() => settleAll([...selected])} />}
        actions={({ messageId }) => (
          <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={() => settleAll([messageId])}>
            {t('unknown.settle.one')}
          </GuardedButton>
        )}
        empty={<EmptyState icon={CircleCheckBig} title={t('unknown.none.title')} text={t('unknown.none.text')} />}
      />
    </PageFrame>
  );
}

function Toolbar({ count, onSettle }: { readonly count: number; readonly onSettle: () => void }) {
  const { t } = useTranslation('operator');
  const reason =
    count === 0
      ? t('unknown.settle.chooseFirst')
      : count > MAX_PER_REQUEST && t('unknown.settle.tooMany', { most: MAX_PER_REQUEST });
  return (
    <>
      <GuardedButton need={OPERATOR} size="xs" reason={reason} leftSection={<Gavel size={14} />} onClick={onSettle}>
        {t('unknown.settle.open')}
      </GuardedButton>
      {count > 0 && <Muted>{t('ui:table.selected', { count })}</Muted>}
    </>
  );
}

function useUnknownColumns(): readonly Column<Unknown>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'destination',
        header: t('unknown.destination'),
        phone: 'title',
        cell: ({ destination }) => <MsisdnText number={destination} />,
      },
      { id: 'sender', header: t('unknown.sender'), cell: ({ sender }) => <bdi>{sender || '–'}</bdi> },
      {
        id: 'account',
        header: t('account.word'),
        cell: ({ accountId, account }) => <AccountLink id={accountId} name={account} />,
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      numberColumn('parts', t('unknown.parts')),
      { id: 'since', header: t('unknown.since'), cell: ({ since }) => <DateTime value={since} /> },
      { id: 'reason', header: t('unknown.reason'), cell: ({ reason }) => <Reason reason={reason} /> },
    ],
    [t],
  );
}

const Reason = ({ reason }: Pick<Unknown, 'reason'>) => (
  <Text size="sm" className="foreign-text" maw={320}>
    {reason}
  </Text>
);

type SettleProps = { readonly messageIds: readonly string[]; readonly onDone: () => void };

/** Dialog that sets the outcome of messages, as reported by their carrier. */
function SettleDialog({ messageIds, onDone }: SettleProps) {
  const { t } = useTranslation('operator');
  return (
    <FormDialog<{ readonly verdict: Verdict | '' }, Settled>
      title={t('unknown.settle.title', { count: messageIds.length })}
      values={{ verdict: '' }}
      run={({ verdict }) => settle(messageIds, verdict)}
      refresh={UNKNOWN_KEYS}
      done={({ settled, results }) =>
        t(settled === results.length ? 'unknown.settle.done' : 'unknown.settle.some', {
          count: settled,
          all: results.length,
        })
      }
      onDone={onDone}
      action={({ verdict }) => t(verdict === 'not-sent' ? 'unknown.settle.sendAgain' : 'unknown.settle.submit')}
      isDisabled={({ verdict }) => verdict === ''}
      kind={({ verdict }) => (verdict === 'not-sent' ? 'danger' : 'normal')}
    >
      {(form) => (
        <>
          <Text size="sm">{t('unknown.settle.text')}</Text>
          <Radio.Group label={t('unknown.settle.question')} {...form.getInputProps('verdict')}>
            <Stack gap="sm" mt="xs">
              {VERDICTS.map((each) => (
                <Radio
                  key={each}
                  value={each}
                  label={t(`unknown.verdict.${each}`)}
                  description={t(`unknown.consequence.${each}`)}
                />
              ))}
            </Stack>
          </Radio.Group>
        </>
      )}
    </FormDialog>
  );
}

const UNKNOWNS = '/api/operator/v1/unknowns';
/** The possible outcomes, most frequent first. */
const VERDICTS = ['delivered', 'undeliverable', 'rejected', 'expired', 'not-sent'] as const;
type Verdict = (typeof VERDICTS)[number];
/** The maximum number of messages that the server resolves per request. */
const MAX_PER_REQUEST = 100;

type Listed = {
  readonly page: number;
  readonly limit: number;
  readonly accountId?: number;
  readonly connection?: string;
};
const listUnknowns = (query: Listed, signal: AbortSignal) => ok(api.GET(UNKNOWNS, { params: { query }, signal }));
type Unknown = Awaited<ReturnType<typeof listUnknowns>>['data'][number];

/** Sets the outcome. The server rejects '', which the form does not submit. */
const settle = (messageIds: readonly string[], verdict: Verdict | '') =>
  ok(api.POST(`${UNKNOWNS}/settle`, { body: { messageIds: [...messageIds], as: verdict as Verdict } }));
type Settled = Awaited<ReturnType<typeof settle>>;

const UNKNOWN_KEYS = [
  ['operator', 'unknowns'],
  ['operator', 'connections'],
  ['operator', 'overview'],
] as const;
