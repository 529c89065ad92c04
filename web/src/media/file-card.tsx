import { Group, Text, UnstyledButton, VisuallyHidden } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Bytes } from '../ui/values/num.tsx';
import { Thumbnail } from '../ui/media/thumbnail.tsx';
import { type Media, typeName } from './file.ts';
import classes from './media.module.css';

type FileCardProps = { readonly media: Media; readonly onOpen: () => void };

/** The card of one file in the grid. */
export function FileCard({ media, onOpen }: FileCardProps) {
  const { t } = useTranslation('media');
  return (
    <li>
      <UnstyledButton className={classes.card} onClick={onOpen}>
        <Thumbnail media={media} />
        <VisuallyHidden>{t('open')} </VisuallyHidden>
        <Text size="sm" fw={600} truncate dir="auto" mt="xs">
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
