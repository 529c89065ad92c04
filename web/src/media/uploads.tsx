import { Button, Group, Paper, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DropArea } from '../ui/media/drop-area.tsx';
import { UploadList } from '../ui/media/upload-list.tsx';
import { useUploads } from '../ui/media/use-uploads.ts';

/** Uploads files; the result of each stays until the list is dismissed. */
export function Uploads({ onUploaded }: { readonly onUploaded: () => void }) {
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
