import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { deleteMedia, type Media } from './file.ts';

type DeleteDialogProps = {
  readonly media: Media | null;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
};

/** Confirms that a file is deleted; null closes the dialog. */
export function DeleteDialog({ media, onClose, onDeleted }: DeleteDialogProps) {
  const { t } = useTranslation('media');
  const name = useLast(media)?.name ?? '';
  const remove = useAction({
    run: deleteMedia,
    refresh: [['media']],
    done: t('delete.done', { name }),
    onDone: onDeleted,
  });
  return (
    <ConfirmDialog
      opened={media !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => media && remove.run(media.id)}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}
