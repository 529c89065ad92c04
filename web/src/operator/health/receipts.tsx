import { Stack, Text } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ReceiptText } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Num, Percent } from '../../ui/values/num.tsx';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { ConnectionFilterBar } from '../connections/connection-choice.tsx';
import { ConnectionLink } from '../shared/connection-link.tsx';

const FIELDS = { ...listFields(), connection: text() };

const listHours = (query: { connection?: string }, signal: AbortSignal) =>
  ok(api.GET('/api/operator/v1/receipts/hours', { params: { query }, signal }));
type Hour = Awaited<ReturnType<typeof listHours>>['data'][number];

/** The share of parts with a final receipt, per carrier and hour of the last day. */
export function Receipts() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useHourColumns();
  const { page, limit, connection } = search;
  const query = useQuery({
    queryKey: ['operator', 'health', 'receipts', connection],
    queryFn: ({ signal }) => listHours({ ...(connection && { connection }) }, signal),
    placeholderData: keepPreviousData,
    select: ({ data }) => ({
      data: data.toReversed().slice(page * limit, (page + 1) * limit),
      page,
      limit,
      total: data.length,
    }),
  });
  return (
    <Stack gap="lg">
      <Text size="sm" c="dimmed" maw="75ch">
        {t('receipts.text')}
      </Text>
      <ConnectionFilterBar value={connection} onChange={(next) => setSearch({ connection: next })} />
      <DataTable<Hour>
        id="operator-receipts"
        label={t('health.tab.receipts')}
        columns={columns}
        query={query}
        rowId={({ hour, connection: of }) => `${hour} ${of}`}
        search={search}
        onSearch={setSearch}
        empty={<EmptyState icon={ReceiptText} title={t('receipts.none.title')} text={t('receipts.none.text')} />}
      />
    </Stack>
  );
}

function useHourColumns(): readonly Column<Hour>[] {
  const { t } = useTranslation('operator');
  return useMemo(
    () => [
      {
        id: 'hour',
        header: t('receipts.hour'),
        phone: 'title',
        cell: ({ hour }) => <DateTime value={hour} show="exact" />,
      },
      { id: 'connection', header: t('connection.one'), cell: ({ connection }) => <ConnectionLink name={connection} /> },
      {
        id: 'submitted',
        header: t('receipts.submitted'),
        align: 'right',
        cell: ({ submitted }) => <Num value={submitted} />,
      },
      { id: 'final', header: t('receipts.final'), align: 'right', cell: ({ final }) => <Num value={final} /> },
      {
        id: 'share',
        header: t('receipts.share'),
        align: 'right',
        cell: ({ finalPercent }) => <Percent share={finalPercent / 100} />,
      },
      { id: 'open', header: t('receipts.open'), align: 'right', cell: ({ open }) => <Num value={open} /> },
      {
        id: 'unmatched',
        header: t('receipts.unmatched'),
        align: 'right',
        cell: ({ unmatched }) => <Num value={unmatched} />,
      },
    ],
    [t],
  );
}
