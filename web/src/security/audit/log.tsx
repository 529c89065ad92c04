import { ScrollText } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { choice, listFields, text, useUrlState, whole } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { ChevronRight } from 'lucide-react';
import { useEntryColumns } from './columns.tsx';
import { EntryPanel } from './entry-panel.tsx';
import { ACTIONS, type Entry, listEntries } from './entry.ts';
import { AuditFilters } from './filters.tsx';
import { useAuditText } from './audit-text.ts';

const PERSON = { fallback: '', parse: (given: string) => (whole().parse(given) ? given : undefined) };
const FIELDS = {
  ...listFields(),
  person: PERSON,
  action: choice(ACTIONS),
  subject: text(),
  from: text(),
  to: text(),
};

/** The audit log of the account, newest first. */
export function AuditLog() {
  const { t } = useTranslation('security');
  const [search, setSearch] = useUrlState(FIELDS);
  const [shown, setShown] = useState<Entry | null>(null);
  const words = useAuditText();
  const columns = useEntryColumns();
  const query = useListQuery(['audit', search], (signal) => listEntries(search, signal));
  return (
    <>
      <AuditFilters filters={search} onChange={setSearch} />
      <DataTable<Entry>
        id="audit"
        label={t('tab.audit')}
        columns={columns}
        query={query}
        rowId={({ id }) => id}
        search={search}
        onSearch={setSearch}
        onRowClick={setShown}
        actions={(entry) => (
          <GuardedIcon
            need={{ write: false }}
            label={t('audit.show', { what: words.action(entry.action) })}
            onClick={() => setShown(entry)}
          >
            <ChevronRight size={16} />
          </GuardedIcon>
        )}
        empty={<EmptyState icon={ScrollText} title={t('audit.none')} text={t('audit.noneText')} />}
      />
      <EntryPanel entry={shown} onClose={() => setShown(null)} />
    </>
  );
}
