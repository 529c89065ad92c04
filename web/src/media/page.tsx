import { SimpleGrid, Stack } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Images } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listMedia, MEDIA_TYPES } from '../api/media.ts';
import { refresh } from '../api/refresh.ts';
import { EmptyState } from '../ui/empty-state.tsx';
import { ErrorState } from '../ui/error-state.tsx';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { Page as Frame } from '../ui/page.tsx';
import { TableSkeleton } from '../ui/table/table-skeleton.tsx';
import { choice, text, useUrlState, whole } from '../ui/url-state.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { DetailPanel } from './detail-panel.tsx';
import { FileCard } from './file-card.tsx';
import { type Media, typeName } from './file.ts';
import { Pages } from './pages.tsx';
import { RevokeDialog } from './revoke-dialog.tsx';
import { Uploads } from './uploads.tsx';

const PAGE_SIZE = 48;
const FIELDS = { page: whole(), name: text(), type: choice(MEDIA_TYPES), file: whole() };

/** The page of the account's media files. */
export function Page() {
  const { t } = useTranslation('media');
  const [search, setSearch] = useUrlState(FIELDS);
  const [confirming, setConfirming] = useState<{ readonly what: 'delete' | 'revoke'; readonly media: Media } | null>(
    null,
  );
  const queries = useQueryClient();
  const close = (): void => setConfirming(null);
  const show = (file: number): void => setSearch({ file, page: search.page });
  return (
    <Frame title={t('title')} description={t('description')}>
      <Uploads onUploaded={() => void refresh(queries, ['media'])} />
      <FilterBar
        isFiltered={search.name !== '' || search.type !== ''}
        onClear={() => setSearch({ name: '', type: '' })}
      >
        <SearchField label={t('filter.name')} value={search.name} onChange={(name) => setSearch({ name })} />
        <ChoiceFilter
          label={t('filter.type')}
          options={MEDIA_TYPES.map((value) => ({ value, label: typeName(value) }))}
          value={search.type}
          onChange={(type) => setSearch({ type })}
        />
      </FilterBar>
      <Files search={search} onOpen={show} onPage={(page) => setSearch({ page })} />
      <DetailPanel
        id={search.file}
        onClose={() => show(0)}
        onDelete={(media) => setConfirming({ what: 'delete', media })}
        onRevoke={(media) => setConfirming({ what: 'revoke', media })}
      />
      <DeleteDialog
        media={confirming?.what === 'delete' ? confirming.media : null}
        onClose={close}
        onDeleted={() => {
          close();
          show(0);
        }}
      />
      <RevokeDialog media={confirming?.what === 'revoke' ? confirming.media : null} onClose={close} />
    </Frame>
  );
}

type Search = ReturnType<typeof useUrlState<typeof FIELDS>>[0];
type FilesProps = {
  readonly search: Search;
  readonly onOpen: (id: number) => void;
  readonly onPage: (page: number) => void;
};

function Files({ search: { page, name, type }, onOpen, onPage }: FilesProps) {
  const { t } = useTranslation('media');
  const files = useQuery({
    queryKey: ['media', { page, name, type }],
    queryFn: ({ signal }) =>
      listMedia(
        { page, limit: PAGE_SIZE, ...(type !== '' && { mimeType: type }), ...(name !== '' && { name }) },
        signal,
      ),
    placeholderData: keepPreviousData,
  });
  if (files.isPending) return <TableSkeleton rows={6} />;
  if (files.isError) return <ErrorState error={files.error} onRetry={() => void files.refetch()} />;
  const { data, total } = files.data;
  if (total === 0) return <Nothing isFiltered={name !== '' || type !== ''} />;
  return (
    <Stack>
      <SimpleGrid
        component="ul"
        cols={{ base: 2, xs: 3, md: 4, xl: 6 }}
        spacing="md"
        m={0}
        p={0}
        aria-label={t('list')}
        style={{ listStyle: 'none' }}
      >
        {data.map((media) => (
          <FileCard key={media.id} media={media} onOpen={() => onOpen(media.id)} />
        ))}
      </SimpleGrid>
      <Pages page={page} limit={PAGE_SIZE} total={total} onPage={onPage} />
    </Stack>
  );
}

function Nothing({ isFiltered }: { readonly isFiltered: boolean }) {
  const { t } = useTranslation('media');
  const kind = isFiltered ? 'none' : 'empty';
  return <EmptyState icon={Images} title={t(`${kind}.title`)} text={t(`${kind}.text`)} />;
}
