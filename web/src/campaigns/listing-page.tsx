import { Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Copy, Eye, Megaphone, Pencil, Trash2 } from 'lucide-react';
import { type ReactNode, Suspense, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { DateField } from '../ui/date-field.tsx';
import { toIso } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import { ActionsMenu, AddButton, useDisabledReason } from '../ui/actions.tsx';
import { type Column, DataTable, useListQuery } from '../ui/data-table.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { EmptyState, PageFrame, TextLink } from '../ui/parts.tsx';
import { choice, listFields, text, useUrlState } from '../ui/url-state.ts';
import { CampaignStatus, ChannelOrder, DateTime, JobProgress, Money, Num } from '../ui/values.tsx';
import {
  type Campaign,
  type CampaignQuery,
  chainOf,
  isDeletable,
  isSending,
  listCampaigns,
  MODES,
  modeName,
  NEED,
  stateOf,
  toneOf,
  useDuplicate,
} from './campaign.ts';
import { useDelete } from './detail-actions.tsx';

const STATES = ['DRAFT', 'READY', 'SCHEDULED', 'SENDING', 'COMPLETED', 'FAILED'] as const;

const LIST_FIELDS = {
  ...listFields('-createdAt'),
  q: text(),
  state: choice(STATES),
  mode: choice(MODES),
  from: text(),
  to: text(),
};

type Search = {
  readonly page: number;
  readonly limit: number;
  readonly sort: string;
  readonly q: string;
  readonly state: (typeof STATES)[number] | '';
  readonly mode: (typeof MODES)[number] | '';
  readonly from: string;
  readonly to: string;
};

const NO_FILTERS = { q: '', state: '', mode: '', from: '', to: '' } as const;

const isFiltered = (search: Search): boolean =>
  [search.q, search.state, search.mode, search.from, search.to].some((value) => value !== '');

/** The server's filters for each status. READY and SCHEDULED are both status 1 and differ in `isProgrammed`. */
const BY_STATE: Readonly<Record<(typeof STATES)[number], CampaignQuery>> = {
  DRAFT: { status: '0' },
  READY: { status: '1', isProgrammed: false },
  SCHEDULED: { status: '1', isProgrammed: true },
  SENDING: { status: '2' },
  COMPLETED: { status: '3' },
  FAILED: { status: '4' },
};

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** The server's date filter, which needs both days or none: an open end is set far in the past or future. */
function windowOf({ from, to }: Pick<Search, 'from' | 'to'>): CampaignQuery {
  const [first, last] = [DAY.test(from), DAY.test(to)];
  if (!first && !last) return {};
  return { startDate: first ? from : '2000-01-01', endDate: last ? to : '2999-12-31' };
}

const queryOf = (search: Search): CampaignQuery => ({
  page: search.page,
  limit: search.limit,
  direction: search.sort === 'createdAt' ? 'ASC' : 'DESC',
  ...(search.q && { search: search.q }),
  ...(search.mode && { sendingMode: search.mode }),
  ...(search.state && BY_STATE[search.state]),
  ...windowOf(search),
});

type FiltersProps = {
  readonly search: Search;
  readonly onSearch: (patch: Partial<Search>) => void;
  readonly onClear: () => void;
};

function Filters({ search, onSearch, onClear }: FiltersProps) {
  const { t } = useTranslation('campaigns');
  return (
    <FilterBar isFiltered={isFiltered(search)} onClear={onClear}>
      <SearchField label={t('filter.search')} value={search.q} onChange={(q) => onSearch({ q })} />
      <ChoiceFilter
        label={t('filter.state')}
        options={STATES.map((value) => ({ value, label: t(`ui:campaignStatus.${value}`) }))}
        value={search.state}
        onChange={(state) => onSearch({ state })}
      />
      <ChoiceFilter
        label={t('filter.mode')}
        options={MODES.map((value) => ({ value, label: modeName(t, value) }))}
        value={search.mode}
        onChange={(mode) => onSearch({ mode })}
      />
      <Days search={search} onSearch={onSearch} />
    </FilterBar>
  );
}

function Days({ search, onSearch }: Omit<FiltersProps, 'onClear'>) {
  const { t } = useTranslation('campaigns');
  return (
    <Group gap="xs" wrap="nowrap" w={{ base: '100%', xs: 'auto' }}>
      {(['from', 'to'] as const).map((end) => (
        <DateField
          key={end}
          aria-label={t(`filter.${end}`)}
          leftSection={
            <Text size="xs" c="dimmed" aria-hidden="true">
              {t(`filter.${end}Short`)}
            </Text>
          }
          leftSectionWidth={46}
          value={search[end]}
          onChange={(value) => onSearch({ [end]: value })}
          style={{ flex: '1 1 0' }}
          miw={150}
        />
      ))}
    </Group>
  );
}

function useCampaignColumns(): readonly Column<Campaign>[] {
  const { t } = useTranslation('campaigns');
  return useMemo(
    () => [
      { id: 'name', header: t('column.name'), phone: 'title', cell: (campaign) => <Name {...campaign} /> },
      { id: 'status', header: t('column.status'), cell: (campaign) => <CampaignStatus status={stateOf(campaign)} /> },
      {
        id: 'channels',
        header: t('column.channels'),
        cell: ({ sendingMode }) => <ChannelOrder channels={chainOf(sendingMode)} />,
      },
      {
        id: 'totalDestinations',
        header: t('column.recipients'),
        align: 'right',
        cell: (campaign) => <Num value={recipientsOf(campaign)} />,
      },
      {
        id: 'progress',
        header: t('column.progress'),
        width: 150,
        phone: 'none',
        cell: (campaign) => <Progress campaign={campaign} />,
      },
      {
        id: 'cost',
        header: t('column.cost'),
        align: 'right',
        cell: (campaign) => <Cost campaign={campaign} />,
      },
      {
        id: 'when',
        header: t('column.when'),
        cell: (campaign) => <When campaign={campaign} />,
      },
      {
        id: 'createdAt',
        header: t('column.createdAt'),
        sortable: true,
        phone: 'none',
        cell: ({ createdAt }) => <DateTime value={createdAt} />,
      },
    ],
    [t],
  );
}

/** The number of recipients; null until they have been counted. */
const recipientsOf = ({ goalCalculatedAt, totalDestinations }: Campaign): number | null =>
  goalCalculatedAt === null ? null : totalDestinations;

function Name({ id, name, description }: Pick<Campaign, 'id' | 'name' | 'description'>) {
  return (
    <Stack gap={2} miw={190} maw={360}>
      <TextLink to={`/campaigns/${id}`} fw={500} lineClamp={2} className="foreign-text">
        <bdi>{name}</bdi>
      </TextLink>
      {description !== '' && (
        <Text size="xs" c="dimmed" fw={400} lineClamp={1} className="foreign-text" dir="auto">
          {description}
        </Text>
      )}
    </Stack>
  );
}

function Progress({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  if (isDeletable(campaign)) return <span>–</span>;
  const label = t('column.progressOf', { name: campaign.name });
  return <JobProgress compact label={label} done={campaign.progress} total={1} tone={toneOf(campaign)} />;
}

function Cost({ campaign }: { readonly campaign: Campaign }) {
  const { estimatedCost, actualCost, currency, goalCalculatedAt } = campaign;
  if (!isDeletable(campaign)) return <Money amount={actualCost} currency={currency} />;
  return goalCalculatedAt === null ? <span>–</span> : <Money amount={estimatedCost} currency={currency} />;
}

function When({ campaign: { scheduledDate, startedAt } }: { readonly campaign: Campaign }) {
  const value = startedAt ?? (scheduledDate && toIso(scheduledDate));
  return <DateTime value={value} />;
}

/** Most accounts have none, and the number is known only later. */
const Drafts = lazyPart(() => import('./drafts.tsx').then((file) => ({ default: file.Drafts })));

/** Poll interval while a campaign is being sent. */
const SENDING_POLL_MS = 5000;
/** Others may create, confirm or delete campaigns meanwhile. */
const WAITING_POLL_MS = 15_000;

/** The page of the account's campaigns, newest first. */
export function Page() {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const create = (
    <AddButton need={NEED} onClick={() => void navigate({ to: '/campaigns/editor' })}>
      {t('create')}
    </AddButton>
  );
  return (
    <PageFrame title={t('title')} description={t('description')} actions={create}>
      <Suspense>
        <Drafts />
      </Suspense>
      <CampaignTable create={create} />
    </PageFrame>
  );
}

function CampaignTable({ create }: { readonly create: ReactNode }) {
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
        actions={(campaign) => <RowMenu campaign={campaign} />}
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

/** The menu of actions for one campaign in the list. */
function RowMenu({ campaign }: { readonly campaign: Campaign }) {
  const { t } = useTranslation('campaigns');
  const askToDelete = useDelete();
  const navigate = useNavigate();
  const duplicate = useDuplicate();
  const reason = useDisabledReason(NEED);
  const { id, name } = campaign;
  const begun = isDeletable(campaign) ? undefined : t('delete.begun');
  const edit = {
    label: t('menu.edit'),
    icon: <Pencil size={16} />,
    reason,
    onClick: () => void navigate({ to: '/campaigns/editor', search: { id } }),
  };
  return (
    <ActionsMenu
      label={t('menu.label', { name })}
      actions={[
        {
          label: t('menu.open'),
          icon: <Eye size={16} />,
          onClick: () => void navigate({ to: `/campaigns/${id}` }),
        },
        ...(isDeletable(campaign) ? [edit] : []),
        { label: t('menu.duplicate'), icon: <Copy size={16} />, reason, onClick: () => duplicate.run(campaign) },
        {
          label: t('menu.delete'),
          icon: <Trash2 size={16} />,
          danger: true,
          apart: true,
          reason: reason ?? begun,
          onClick: () => askToDelete(campaign),
        },
      ]}
    />
  );
}
