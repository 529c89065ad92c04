import { Button, Group, Input } from '@mantine/core';
import { ImagePlus } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import type { DraftForm } from '../draft.ts';

const MediaPicker = lazyPart(() =>
  import('../../ui/media/media-picker.tsx').then((file) => ({ default: file.MediaPicker })),
);

/** The field for a card's image or video, from the account's files. */
export function PictureField({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const [isOpen, setIsOpen] = useState(false);
  const { picture } = form.values;
  return (
    <Input.Wrapper label={t('picture')} labelElement="div" error={form.errors['picture']}>
      <Group mt={4} gap="xs">
        <GuardedButton
          need={{ scope: 'media', write: false }}
          variant="default"
          size="xs"
          leftSection={<ImagePlus size={15} />}
          onClick={() => setIsOpen(true)}
        >
          {picture === null ? t('pictureChoose') : picture.name}
        </GuardedButton>
        {picture !== null && (
          <Button variant="subtle" color="gray" size="xs" onClick={() => form.setFieldValue('picture', null)}>
            {t('pictureRemove')}
          </Button>
        )}
      </Group>
      <Dialog opened={isOpen} onClose={() => setIsOpen(false)} title={t('pictureChoose')} size="xl">
        <Suspense fallback={<TableSkeleton rows={3} />}>
          {isOpen && (
            <MediaPicker
              onChoose={({ id, name, url, mimeType }) => {
                form.setFieldValue('picture', { id, name, url, isImage: mimeType.startsWith('image/') });
                form.clearFieldError('picture');
                setIsOpen(false);
              }}
            />
          )}
        </Suspense>
      </Dialog>
    </Input.Wrapper>
  );
}
