import { FileDown } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { AddButton } from '../ui/actions/add-button.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { listFields, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { useExportColumns } from './columns.tsx';
import { CreateDialog } from './create-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { type Export, listExports, NEED } from './export.ts';
import { ExportActions } from './export-actions.tsx';

const FIELDS = listFields();
const RUNNING_POLL_MS = 1_000;
const IDLE_POLL_MS = 30_000;

/** The page of the account's exports. */
export function Page() {
  const { t } = useTranslation('exports');
  const [isCreating, setIsCreating] = useState(false);
  const [deleting, setDeleting] = useState<Export | null>(null);
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useExportColumns();
  const query = useListQuery(['exports', 'list', search], (signal) => listExports(search, signal), {
    refetchInterval: ({ state }) =>
      state.data?.data.some(({ status }) => status === 'PENDING') ? RUNNING_POLL_MS : IDLE_POLL_MS,
  });
  const create = (
    <AddButton need={NEED} onClick={() => setIsCreating(true)}>
      {t('create.open')}
    </AddButton>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={create}>
      <DataTable<Export>
        id="exports"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ exportId }) => exportId}
        search={search}
        onSearch={setSearch}
        actions={(row) => <ExportActions row={row} onDelete={setDeleting} />}
        empty={
          <EmptyState icon={FileDown} title={t('empty.title')} text={t('empty.text')} help="operations#exports">
            {create}
          </EmptyState>
        }
      />
      <CreateDialog opened={isCreating} onClose={() => setIsCreating(false)} />
      <DeleteDialog row={deleting} onClose={() => setDeleting(null)} />
    </Frame>
  );
}
