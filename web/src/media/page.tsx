import {
  ActionIcon,
  Button,
  Group,
  Paper,
  SimpleGrid,
  Stack,
  Text,
  UnstyledButton,
  VisuallyHidden,
} from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { ChevronLeft, ChevronRight, Images } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { listMedia, MEDIA_TYPES } from '../api/media.ts';
import { refresh } from '../api/refresh.ts';
import { ChoiceFilter, FilterBar, SearchField } from '../ui/filter-bar.tsx';
import { useFormat } from '../ui/format.ts';
import { DropArea, Thumbnail, UploadList, useUploads } from '../ui/media.tsx';
import { EmptyState, ErrorState, PageFrame, TableSkeleton } from '../ui/parts.tsx';
import { choice, text, useUrlState, whole } from '../ui/url-state.ts';
import { Bytes } from '../ui/values.tsx';
import { DetailPanel, type Media, typeName } from './detail-panel.tsx';
import classes from './media.module.css';

const PAGE_SIZE = 48;
const FIELDS = { page: whole(), name: text(), type: choice(MEDIA_TYPES), file: whole() };

/** The page of the account's media files. */
export function Page() {
  const { t } = useTranslation('media');
  const [search, setSearch] = useUrlState(FIELDS);
  const queries = useQueryClient();
  const show = (file: number): void => setSearch({ file, page: search.page });
  return (
    <PageFrame title={t('title')} description={t('description')}>
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
      <DetailPanel id={search.file} onClose={() => show(0)} />
    </PageFrame>
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

type PagesProps = {
  readonly page: number;
  readonly limit: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
};

/** The pager: the range shown, and buttons to other pages. */
function Pages({ page, limit, total, onPage }: PagesProps) {
  const { t } = useTranslation('ui');
  const { number } = useFormat();
  const last = Math.max(0, Math.ceil(total / limit) - 1);
  const range = { first: number(page * limit + 1), last: number(Math.min(total, (page + 1) * limit)) };
  return (
    <Group justify="flex-end" gap="sm">
      <Text size="sm" c="dimmed" className="tabular">
        {t('table.range', { ...range, total: number(total) })}
      </Text>
      {last > 0 && (
        <Group gap="xs">
          <ActionIcon
            variant="default"
            aria-label={t('table.previous')}
            disabled={page === 0}
            onClick={() => onPage(page - 1)}
          >
            <ChevronLeft size={16} />
          </ActionIcon>
          <ActionIcon
            variant="default"
            aria-label={t('table.next')}
            disabled={page >= last}
            onClick={() => onPage(page + 1)}
          >
            <ChevronRight size={16} />
          </ActionIcon>
        </Group>
      )}
    </Group>
  );
}

type FileCardProps = { readonly media: Media; readonly onOpen: () => void };

/** The card of one file in the grid. */
function FileCard({ media, onOpen }: FileCardProps) {
  const { t } = useTranslation('media');
  return (
    <li>
      <UnstyledButton className={classes.card} onClick={onOpen}>
        <Thumbnail media={media} />
        <VisuallyHidden>{t('open')} </VisuallyHidden>
        <Text size="sm" fw={500} truncate dir="auto" mt="xs">
          {media.name}
        </Text>
        <Group gap="xs" wrap="nowrap" justify="space-between">
          <Text size="xs" c="dimmed">
            {typeName(media.mimeType)}
          </Text>
          <Text size="xs" c="dimmed">
            <Bytes count={media.sizeBytes} />
          </Text>
        </Group>
      </UnstyledButton>
    </li>
  );
}

/** Uploads files; the result of each stays until the list is dismissed. */
function Uploads({ onUploaded }: { readonly onUploaded: () => void }) {
  const { t } = useTranslation('media');
  const { rows, add, clear, busy } = useUploads(onUploaded);
  return (
    <Stack gap="sm">
      <DropArea onFiles={add} />
      {rows.length > 0 && (
        <Paper p="md">
          <Stack gap="sm">
            <UploadList rows={rows} />
            {!busy && (
              <Group justify="flex-end">
                <Button size="xs" variant="subtle" color="gray" onClick={clear}>
                  {t('clearUploads')}
                </Button>
              </Group>
            )}
          </Stack>
        </Paper>
      )}
    </Stack>
  );
}
