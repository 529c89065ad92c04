import { Button, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { listMedia, type Media } from '../api/media.ts';
import { Dialog } from './dialog.tsx';
import { useDialog } from './lazy-props.ts';
import { SearchField } from './filter-bar.tsx';
import { DropArea, Thumbnail, UploadList, useUploads } from './media.tsx';
import classes from './media-picker.module.css';
import { ErrorState, TableSkeleton } from './parts.tsx';

const PAGE_SIZE = 24;

type MediaDialogProps = { readonly title: string; readonly onChoose: (media: Media) => void };

/** Dialog that picks a file of the library or a new upload, which is chosen once it is uploaded. */
export const MediaDialog = ({ title, onChoose }: MediaDialogProps) => (
  <Dialog title={title} size="xl">
    <Picker onChoose={onChoose} />
  </Dialog>
);

function Picker({ onChoose }: Pick<MediaDialogProps, 'onChoose'>) {
  const { t } = useTranslation('ui');
  const { close } = useDialog();
  const [name, setName] = useState('');
  const choose = (media: Media): void => {
    onChoose(media);
    close();
  };
  const uploads = useUploads(choose);
  return (
    <Stack>
      <DropArea onFiles={uploads.add} />
      <UploadList rows={uploads.rows} />
      <SearchField wide label={t('mediaPicker.search')} value={name} onChange={setName} />
      <Library name={name} onChoose={choose} />
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
