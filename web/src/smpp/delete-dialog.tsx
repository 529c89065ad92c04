import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Credential, CREDENTIALS, nameOf } from './credential.ts';

type DeleteDialogProps = { readonly credential: Credential | null; readonly onClose: () => void };

/** Confirms that a credential is deleted; null closes the dialog. */
export function DeleteDialog({ credential, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('smpp');
  const shown = useLast(credential);
  const name = shown === null ? '' : nameOf(shown);
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${CREDENTIALS}/{id}`, { params: { path: { id } } })),
    refresh: [['smpp']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={credential !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => credential && remove.run(credential.id)}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}
