import { Megaphone } from 'lucide-react';
import { type ReactNode, Suspense, useState } from 'react';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { DataTable } from '../../ui/table/data-table.tsx';
import { EmptyState } from '../../ui/empty-state.tsx';
import { Page as Frame } from '../../ui/page.tsx';
import { useUrlState } from '../../ui/url-state.ts';
import { useListQuery } from '../../ui/table/use-list-query.ts';
import { type Campaign, isSending, listCampaigns, NEED } from '../campaign.ts';
import { useCampaignColumns } from './columns.tsx';
import { DeleteDialog } from '../delete-dialog.tsx';
import { Filters, isFiltered, LIST_FIELDS, NO_FILTERS, queryOf } from './filters.tsx';
import { RowMenu } from './row-menu.tsx';

/** Most accounts have none, and the number is known only later. */
const Drafts = lazyPart(() => import('./drafts.tsx').then((file) => ({ default: file.Drafts })));

/** Poll interval while a campaign is being sent. */
const SENDING_POLL_MS = 5000;
/** Others may create, confirm or delete campaigns meanwhile. */
const WAITING_POLL_MS = 15_000;

/** The page of the account's campaigns, newest first. */
export function Page() {
  const { t } = useTranslation('campaigns');
  const [doomed, setDoomed] = useState<Campaign | null>(null);
  const navigate = useNavigate();
  const create = (
    <AddButton need={NEED} onClick={() => void navigate({ to: '/campaigns/editor' })}>
      {t('create')}
    </AddButton>
  );
  return (
    <Frame title={t('title')} description={t('description')} actions={create}>
      <Suspense>
        <Drafts />
      </Suspense>
      <CampaignTable create={create} onDelete={setDoomed} />
      <DeleteDialog campaign={doomed} onClose={() => setDoomed(null)} />
    </Frame>
  );
}

type CampaignTableProps = { readonly create: ReactNode; readonly onDelete: (campaign: Campaign) => void };

function CampaignTable({ create, onDelete }: CampaignTableProps) {
  const { t } = useTranslation('campaigns');
  const [search, setSearch] = useUrlState(LIST_FIELDS);
  const navigate = useNavigate();
  const columns = useCampaignColumns();
  const query = useListQuery(['campaigns', search], (signal) => listCampaigns(queryOf(search), signal), {
    refetchInterval: ({ state }) => (state.data?.data.some(isSending) ? SENDING_POLL_MS : WAITING_POLL_MS),
  });
  const clear = (): void => setSearch(NO_FILTERS);
  return (
    <>
      <Filters search={search} onSearch={setSearch} onClear={clear} />
      <DataTable<Campaign>
        id="campaigns"
        label={t('title')}
        columns={columns}
        query={query}
        rowId={({ id }) => String(id)}
        search={search}
        onSearch={setSearch}
        onRowClick={({ id }) => void navigate({ to: `/campaigns/${id}` })}
        actions={(campaign) => <RowMenu campaign={campaign} onDelete={() => onDelete(campaign)} />}
        empty={
          isFiltered(search) ? (
            <EmptyState icon={Megaphone} title={t('noneFound.title')} text={t('noneFound.text')} />
          ) : (
            <EmptyState icon={Megaphone} title={t('empty.title')} text={t('empty.text')} help="concepts#campaigns">
              {create}
            </EmptyState>
          )
        }
      />
    </>
  );
}
