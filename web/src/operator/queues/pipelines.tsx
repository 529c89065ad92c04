import { useTranslation } from 'react-i18next';
import { Duration } from '../../ui/values/date-time.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { type PlainColumn, PlainTable } from '../shared/plain-table.tsx';
import { useServerText } from '../shared/server-text.ts';
import type { Queues } from './queue.ts';

type Pipeline = Queues['pipelines'][number];

/** The background jobs: receipts, campaigns, imports and others. */
export function Pipelines({ queues }: { readonly queues: Queues | undefined }) {
  const { t } = useTranslation('operator');
  const serverText = useServerText();
  const columns: readonly PlainColumn<Pipeline>[] = [
    { id: 'name', header: t('pipeline.work'), cell: ({ name }) => serverText(`pipeline.name.${name}`, name) },
    { id: 'waiting', header: t('pipeline.due'), align: 'right', cell: ({ waiting }) => <Num value={waiting} /> },
    {
      id: 'oldest',
      header: t('queue.age'),
      align: 'right',
      cell: ({ oldestSeconds }) => <Duration seconds={oldestSeconds} />,
    },
  ];
  return (
    <Section title={t('pipeline.title')} description={t('pipeline.hint')}>
      {queues === undefined ? (
        <TableSkeleton rows={6} />
      ) : (
        <PlainTable label={t('pipeline.title')} columns={columns} rows={queues.pipelines} rowId={({ name }) => name} />
      )}
    </Section>
  );
}
