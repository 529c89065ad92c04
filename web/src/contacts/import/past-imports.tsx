import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { type Column, DataTable } from '../../ui/table/data-table.tsx';
import { DateTime } from '../../ui/values/date-time.tsx';
import { TextLink } from '../../ui/link.tsx';
import { Num } from '../../ui/values/num.tsx';
import { Section } from '../../ui/section.tsx';
import { listFields, useUrlState } from '../../ui/url-state.ts';
import { CONTACTS } from '../contact.ts';
import { ImportStatus } from './outcome.tsx';

const FIELDS = listFields('', 10);

const listImports = (page: number, limit: number, signal: AbortSignal) =>
  ok(api.GET(`${CONTACTS}/imports`, { params: { query: { page, limit } }, signal }));
type PastImport = Awaited<ReturnType<typeof listImports>>['data'][number];

/** Previous imports and trial runs; nothing if there are none. */
export function PastImports() {
  const { t } = useTranslation('contacts');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useColumns();
  const query = useQuery({
    queryKey: ['imports', 'page', search],
    queryFn: ({ signal }) => listImports(search.page, search.limit, signal),
  });
  if (query.data === undefined || query.data.total === 0) return null;
  return (
    <Section title={t('import.past')}>
      <DataTable<PastImport>
        id="contact-imports"
        label={t('import.past')}
        columns={columns}
        query={query}
        rowId={({ importId }) => String(importId)}
        search={search}
        onSearch={setSearch}
        empty={null}
      />
    </Section>
  );
}

function useColumns(): readonly Column<PastImport>[] {
  const { t } = useTranslation('contacts');
  return useMemo(
    () => [
      {
        id: 'fileName',
        header: t('import.file'),
        phone: 'title',
        cell: ({ importId, fileName }) => (
          <TextLink to="/contacts/import" search={{ import: importId }} style={{ overflowWrap: 'anywhere' }}>
            {fileName || t('import.file')}
          </TextLink>
        ),
      },
      { id: 'status', header: t('import.state'), cell: (row) => <ImportStatus result={row} /> },
      ...(['created', 'updated', 'errors'] as const).map(
        (figure): Column<PastImport> => ({
          id: figure,
          header: t(`import.figure.${figure}`),
          align: 'right',
          cell: ({ summary }) => <Num value={summary[figure]} />,
        }),
      ),
      { id: 'createdAt', header: t('import.when'), cell: ({ createdAt }) => <DateTime value={createdAt} /> },
    ],
    [t],
  );
}
