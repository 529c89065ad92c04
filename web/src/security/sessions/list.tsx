import { Button } from '@mantine/core';
import { LogOut, MonitorSmartphone } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar } from '../../ui/filter-bar.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { choice, listFields, useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { useDeviceName, useSessionColumns } from './columns.tsx';
import { EndDialog, EndOthersDialog } from './end-dialogs.tsx';
import { type Entry, listSessions } from './session-entry.ts';

const FIELDS = { ...listFields(), whose: choice(['all']) };

/** The user's own sessions; owners and administrators can show those of the whole account. */
export function SessionList() {
  const { t } = useTranslation('security');
  const [search, setSearch] = useUrlState(FIELDS);
  const [ending, setEnding] = useState<Entry | 'others' | null>(null);
  const { may, isElsewhere } = useSession();
  const mayAll = may({ scope: 'keys' });
  const all = mayAll && (isElsewhere || search.whose === 'all');
  const { page, limit } = search;
  const query = useListQuery(['sessions', { page, limit, all }], (signal) =>
    listSessions({ page, limit, ...(all && { all }) }, signal),
  );
  const columns = useSessionColumns(all);
  const hasOthers = !all && (query.data?.total ?? 0) > 1;
  return (
    <>
      <FilterBar>
        {mayAll && !isElsewhere && (
          <ChoiceFilter
            label={t('session.mine')}
            options={[{ value: 'all', label: t('session.all') }]}
            value={search.whose}
            onChange={(whose) => setSearch({ whose })}
          />
        )}
        {hasOthers && (
          <Button variant="default" leftSection={<LogOut size={16} />} onClick={() => setEnding('others')}>
            {t('endOthers.open')}
          </Button>
        )}
      </FilterBar>
      <DataTable<Entry>
        id="sessions"
        label={t('tab.sessions')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        actions={(entry) => <EndIcon entry={entry} onClick={() => setEnding(entry)} />}
        empty={<EmptyState icon={MonitorSmartphone} title={t('session.none')} text={t('session.noneText')} />}
      />
      <EndDialog entry={ending === 'others' ? null : ending} onClose={() => setEnding(null)} />
      <EndOthersDialog opened={ending === 'others'} onClose={() => setEnding(null)} />
    </>
  );
}

function EndIcon({ entry, onClick }: { readonly entry: Entry; readonly onClick: () => void }) {
  const { t } = useTranslation('security');
  const device = useDeviceName()(entry);
  // Viewers may end sessions too, because they see only their own.
  return (
    <GuardedIcon
      need={{ write: false }}
      reason={entry.current && t('end.current')}
      label={t('end.label', { device, username: entry.username })}
      onClick={onClick}
    >
      <LogOut size={16} />
    </GuardedIcon>
  );
}
