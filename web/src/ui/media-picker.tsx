import { Button, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listMedia, type Media } from '../api/media.ts';
import { SearchField } from './filter-bar.tsx';
import { DropArea, Thumbnail, UploadList, useUploads } from './media.tsx';
import classes from './media-picker.module.css';
import { ErrorState } from './parts.tsx';
import { TableSkeleton } from './table-skeleton.tsx';

const PAGE_SIZE = 24;

/** A picker for a file of the library or a new upload, which is chosen once it is uploaded. For use in a dialog. */
export function MediaPicker({ onChoose }: { readonly onChoose: (media: Media) => void }) {
  const { t } = useTranslation('ui');
  const [name, setName] = useState('');
  const uploads = useUploads(onChoose);
  return (
    <Stack>
      <DropArea onFiles={uploads.add} />
      <UploadList rows={uploads.rows} />
      <SearchField wide label={t('mediaPicker.search')} value={name} onChange={setName} />
      <Library name={name} onChoose={onChoose} />
    </Stack>
  );
}

type LibraryProps = { readonly name: string; readonly onChoose: (media: Media) => void };

function Library({ name, onChoose }: LibraryProps) {
  const { t } = useTranslation('ui');
  const files = useInfiniteQuery({
    queryKey: ['media', 'picker', name],
    queryFn: ({ pageParam, signal }) =>
      listMedia({ page: pageParam, limit: PAGE_SIZE, ...(name !== '' && { name }) }, signal),
    initialPageParam: 0,
    getNextPageParam: ({ page, limit, total }) => ((page + 1) * limit < total ? page + 1 : undefined),
    placeholderData: keepPreviousData,
  });
  if (files.isPending) return <TableSkeleton rows={3} />;
  if (files.isError) return <ErrorState error={files.error} onRetry={() => void files.refetch()} />;
  const found = files.data.pages.flatMap(({ data }) => data);
  if (found.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t(name === '' ? 'mediaPicker.empty' : 'mediaPicker.none')}
      </Text>
    );
  return (
    <>
      <ul className={classes.grid} aria-label={t('mediaPicker.label')}>
        {found.map((media) => (
          <li key={media.id}>
            <UnstyledButton
              className={classes.file}
              aria-label={t('mediaPicker.choose', { name: media.name })}
              onClick={() => onChoose(media)}
            >
              <Thumbnail media={media} />
              <Text size="xs" truncate dir="auto">
                {media.name}
              </Text>
            </UnstyledButton>
          </li>
        ))}
      </ul>
      {files.hasNextPage && (
        <Group justify="center">
          <Button
            variant="default"
            size="xs"
            loading={files.isFetchingNextPage}
            onClick={() => void files.fetchNextPage()}
          >
            {t('mediaPicker.more')}
          </Button>
        </Group>
      )}
    </>
  );
}
