import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Media, revokeLinks } from './file.ts';

type RevokeDialogProps = { readonly media: Media | null; readonly onClose: () => void };

/** Confirms that all existing links to a file are revoked; null closes the dialog. */
export function RevokeDialog({ media, onClose }: RevokeDialogProps) {
  const { t } = useTranslation('media');
  const name = useLast(media)?.name ?? '';
  const revoke = useAction({
    run: revokeLinks,
    refresh: [['media'], ['media-file']],
    done: t('revoke.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={media !== null}
      onClose={onClose}
      title={t('revoke.title', { name })}
      action={t('revoke.submit')}
      onConfirm={() => media && revoke.run(media.id)}
      busy={revoke.busy}
    >
      {t('revoke.text')}
    </ConfirmDialog>
  );
}
