import { Alert, Text } from '@mantine/core';
import { CircleCheckBig, Gavel, Info } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { useRowSelection } from '../../ui/table/row-selection.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { MsisdnText } from '../../ui/values/msisdn-text.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { AccountLink } from '../shared/account-link.tsx';
import { ConnectionFilterBar } from '../connections/connection-choice.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';
import { REFRESH_MS, OPERATOR } from '../shared/need.ts';
import { SettleDialog } from './settle-dialog.tsx';
import { listUnknowns, MAX_PER_REQUEST, type Unknown } from './unknown.ts';

const FIELDS = { ...listFields(), connection: text() };
const NONE: ReadonlySet<string> = new Set();

/** The page of messages with an unknown outcome. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const [selected, setSelected] = useState(NONE);
  const [settled, setSettled] = useState<readonly string[]>([]);
  const columns = useUnknownColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(
    ['operator', 'unknowns', search],
    (signal) => listUnknowns({ page, limit, ...(connection && { connection }) }, signal),
    { refetchInterval: REFRESH_MS * 2 },
  );
  const shown = (query.data?.data ?? []).map(({ messageId }) => messageId);
  const selection = useRowSelection({ shown, selected, onSelect: setSelected });
  return (
    <Frame title={t('unknown.title')} description={t('unknown.description')}>
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
        toolbar={<Toolbar count={selected.size} onSettle={() => setSettled([...selected])} />}
        actions={({ messageId }) => (
          <GuardedButton need={OPERATOR} size="xs" variant="default" onClick={() => setSettled([messageId])}>
            {t('unknown.settle.one')}
          </GuardedButton>
        )}
        empty={<EmptyState icon={CircleCheckBig} title={t('unknown.none.title')} text={t('unknown.none.text')} />}
      />
      <SettleDialog messageIds={settled} onClose={() => setSettled([])} onDone={() => setSelected(NONE)} />
    </Frame>
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
      {count > 0 && (
        <Text size="sm" c="dimmed">
          {t('ui:table.selected', { count })}
        </Text>
      )}
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
      { id: 'parts', header: t('unknown.parts'), align: 'right', cell: ({ parts }) => <Num value={parts} /> },
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
