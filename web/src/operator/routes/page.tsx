import { Waypoints } from 'lucide-react';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { listFields, text, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { ConnectionFilterBar } from '../connections/connection-choice.tsx';
import { Lookups } from '../lookups/lookups.tsx';
import { Policies } from '../route-policies/policies.tsx';
import { OPERATOR } from '../shared/need.ts';
import { useRouteColumns } from './columns.tsx';
import { DeleteIcon } from './delete-icon.tsx';
import { listRoutes, type Route } from './route.ts';
import { RouteCheck } from './route-check.tsx';

const AddDialog = lazyPart(() => import('./add-dialog.tsx').then((file) => ({ default: file.AddDialog })));

/** `add` opens the dialog with that connection, or with `-` for none. */
const FIELDS = { ...listFields(), connection: text(), number: text(), account: text(), sender: text(), add: text() };
const NONE = '-';

/** The page of the SMS routes. */
export function Page() {
  const { t } = useTranslation('operator');
  const [search, setSearch] = useUrlState(FIELDS);
  const columns = useRouteColumns();
  const { page, limit, connection } = search;
  const query = useListQuery(['operator', 'routes', 'list', page, limit, connection], (signal) =>
    listRoutes({ page, limit, ...(connection && { connection }) }, signal),
  );
  const add = (
    <AddButton need={OPERATOR} onClick={() => setSearch({ add: connection || NONE })}>
      {t('route.add.open')}
    </AddButton>
  );
  return (
    <Frame title={t('route.title')} description={t('route.description')} actions={add}>
      <ConnectionFilterBar routedBy="prefix" value={connection} onChange={(next) => setSearch({ connection: next })} />
      <DataTable<Route>
        id="operator-routes"
        label={t('route.title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(route) => <DeleteIcon route={route} />}
        empty={
          <EmptyState
            icon={Waypoints}
            title={t('route.none.title')}
            text={t('route.none.text')}
            help="routing#the-order-of-decisions"
          >
            {add}
          </EmptyState>
        }
      />
      <Policies />
      <Lookups />
      <RouteCheck asked={search} onChange={setSearch} />
      <Suspense>
        {search.add !== '' && (
          <AddDialog onClose={() => setSearch({ add: '' })} connection={search.add === NONE ? '' : search.add} />
        )}
      </Suspense>
    </Frame>
  );
}
