import { Cable, Plus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ButtonLink } from '../../ui/link.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { listFields, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { REFRESH_MS } from '../shared/need.ts';
import { useConnectionColumns } from './columns.tsx';
import { type Connection, listConnections } from './connection.ts';

const FIELDS = listFields();

/** The page of all connections, with their state across all workers. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useConnectionColumns();
  const { page, limit } = search;
  const query = useListQuery(
    ['operator', 'connections', 'list', search],
    (signal) => listConnections({ page, limit }, signal),
    { refetchInterval: REFRESH_MS },
  );
  const add = (
    <ButtonLink to="/operator/connections/new" leftSection={<Plus size={16} />}>
      {t('connection.add')}
    </ButtonLink>
  );
  return (
    <Frame title={t('connection.title')} description={t('connection.description')} actions={add}>
      <DataTable<Connection>
        id="operator-connections"
        label={t('connection.title')}
        columns={columns}
        query={query}
        rowId={({ name }) => name}
        search={search}
        onSearch={setSearch}
        empty={
          <EmptyState
            icon={Cable}
            title={t('connection.none.title')}
            text={t('connection.none.text')}
            help="operating#connect-a-carrier"
          >
            {add}
          </EmptyState>
        }
      />
    </Frame>
  );
}
