import { NativeSelect } from '@mantine/core';
import { LayoutTemplate } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import { AddButton } from '../ui/actions/add-button.tsx';
import { DataTable } from '../ui/table/data-table.tsx';
import { EmptyState } from '../ui/empty-state.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { useListQuery } from '../ui/table/use-list-query.ts';
import { AccountFrame } from './account-frame.tsx';
import { CHANNELS, listTemplates, STATES, type Template } from './template.ts';
import { useTemplateColumns } from './template-columns.tsx';
import { TemplateDialog } from './template-dialog.tsx';
import { TemplateActions, TemplateDelete } from './template-actions.tsx';
import { TemplatePanel } from './template-panel.tsx';

const FIELDS = { ...listFields(), channel: choice(CHANNELS, 'WHATSAPP'), status: choice(STATES), q: text() };

/** The page of the account's templates, with their approval status. */
export function Page() {
  const { t } = useTranslation('account');
  const [isMaking, setIsMaking] = useState(false);
  const [search] = useUrlState(FIELDS);
  const make = (
    <AddButton need={{ scope: search.channel }} onClick={() => setIsMaking(true)}>
      {t('template.open')}
    </AddButton>
  );
  return (
    <AccountFrame part="templates" actions={make}>
      <Templates make={make} />
      <TemplateDialog channel={search.channel} opened={isMaking} onClose={() => setIsMaking(false)} />
    </AccountFrame>
  );
}

function Templates({ make }: { readonly make: ReactNode }) {
  const { t } = useTranslation('account');
  const [search, setSearch] = useUrlState(FIELDS);
  const [shown, setShown] = useState<Template | null>(null);
  const [deleting, setDeleting] = useState<Template | null>(null);
  const { channel, ...filters } = search;
  const refusal = useSession().refusal({ scope: channel });
  const columns = useTemplateColumns(channel, setShown);
  const query = useListQuery(['templates', channel, filters], (signal) => listTemplates(channel, filters, signal), {
    enabled: refusal === null,
  });
  const isFiltered = search.q !== '' || search.status !== '';
  const nothing = isFiltered ? 'noMatch' : channel;
  return (
    <>
      <FilterBar isFiltered={isFiltered} onClear={() => setSearch({ q: '', status: '' })}>
        <NativeSelect
          aria-label={t('template.channel')}
          data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={(event) =>
            setSearch({ channel: CHANNELS.find((each) => each === event.currentTarget.value) ?? 'WHATSAPP' })
          }
        />
        {channel === 'WHATSAPP' && (
          <ChoiceFilter
            label={t('template.anyStatus')}
            options={STATES.map((value) => ({ value, label: t(`templateStatus.${value}`) }))}
            value={search.status}
            onChange={(status) => setSearch({ status })}
          />
        )}
        <SearchField label={t('template.search')} value={search.q} onChange={(q) => setSearch({ q })} />
      </FilterBar>
      {refusal === null ? (
        <DataTable<Template>
          id={`templates-${channel}`}
          label={t('part.templates.title')}
          columns={columns}
          query={query}
          rowId={({ id }) => id}
          search={search}
          onSearch={setSearch}
          onRowClick={setShown}
          actions={(template) => <TemplateActions template={template} onDelete={setDeleting} />}
          empty={
            <EmptyState
              icon={LayoutTemplate}
              title={t(`template.empty.${nothing}`)}
              text={t(`template.emptyText.${nothing}`)}
              help="concepts#connections-routes-senders-and-templates"
            >
              {!isFiltered && make}
            </EmptyState>
          }
        />
      ) : (
        <EmptyState icon={LayoutTemplate} title={t(`ui:why.${refusal}`)} />
      )}
      <TemplatePanel template={shown} onClose={() => setShown(null)} />
      <TemplateDelete template={deleting} onClose={() => setDeleting(null)} />
    </>
  );
}
