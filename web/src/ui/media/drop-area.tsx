import { Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { ImageUp } from 'lucide-react';
import { type DragEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ACCEPTED, MEDIA_NEED } from '../../api/media.ts';
import classes from './drop-area.module.css';
import { GuardedButton, useDisabledReason } from '../actions/guarded-button.tsx';

type DropAreaProps = { readonly onFiles: (files: readonly File[]) => void };

/** An area to drop or choose images and videos. Users who may not upload see the reason. */
export function DropArea({ onFiles }: DropAreaProps) {
  const { t } = useTranslation('ui');
  const reason = useDisabledReason(MEDIA_NEED);
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent): void => {
    event.preventDefault();
    setOver(false);
    if (reason === undefined) onFiles([...event.dataTransfer.files]);
  };
  return (
    <Group
      className={classes.area}
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <ImageUp size={24} aria-hidden="true" />
      <Stack gap={0} style={{ flex: '1 1 220px' }}>
        <Text size="sm" fw={600}>
          {t('upload.drop')}
        </Text>
        <Text size="xs" c="dimmed">
          {t('upload.limits')}
        </Text>
      </Stack>
      {reason === undefined ? (
        <FileButton multiple accept={ACCEPTED} onChange={(files) => onFiles(files)}>
          {(props) => (
            <Button variant="default" {...props}>
              {t('upload.choose')}
            </Button>
          )}
        </FileButton>
      ) : (
        <GuardedButton need={MEDIA_NEED} variant="default">
          {t('upload.choose')}
        </GuardedButton>
      )}
    </Group>
  );
}
