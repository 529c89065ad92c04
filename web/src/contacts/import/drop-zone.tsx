import { Button, FileButton, Group, Stack, Text } from '@mantine/core';
import { FileUp } from 'lucide-react';
import { type DragEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Bytes } from '../../ui/values/num.tsx';
import classes from './drop-zone.module.css';

type DropZoneProps = {
  readonly file: { readonly fileName: string; readonly sizeBytes: number } | null;
  readonly accept: string;
  readonly onFile: (file: File) => void;
};

/** An area to drop a file on, with a button to choose one. */
export function DropZone({ file, accept, onFile }: DropZoneProps) {
  const { t } = useTranslation('contacts');
  const [isOver, setOver] = useState(false);
  const stop = (event: DragEvent, over: boolean): void => {
    event.preventDefault();
    setOver(over);
  };
  return (
    <div
      className={classes.zone}
      data-over={isOver || undefined}
      onDragOver={(event) => stop(event, true)}
      onDragLeave={(event) => stop(event, false)}
      onDrop={(event) => {
        stop(event, false);
        const [dropped] = event.dataTransfer.files;
        if (dropped) onFile(dropped);
      }}
    >
      <Stack align="center" gap="xs">
        <FileUp size={28} aria-hidden="true" />
        {file === null ? (
          <Text fw={600}>{t('import.drop')}</Text>
        ) : (
          <Group gap="xs" justify="center">
            <Text fw={600} className="foreign-text">
              {file.fileName}
            </Text>
            <Text c="dimmed" size="sm">
              <Bytes count={file.sizeBytes} />
            </Text>
          </Group>
        )}
        <Text size="sm" c="dimmed" ta="center">
          {t('import.kinds')}
        </Text>
        <FileButton
          accept={accept}
          onChange={(chosen) => chosen && onFile(chosen)}
          inputProps={{ 'aria-label': t('import.file') }}
        >
          {(props) => (
            <Button {...props} variant="default">
              {t(file === null ? 'import.choose' : 'import.chooseOther')}
            </Button>
          )}
        </FileButton>
      </Stack>
    </div>
  );
}
