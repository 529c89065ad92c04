import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type ApiKey, KEYS, nameOf } from './api-key.ts';

type RevokeDialogProps = { readonly apiKey: ApiKey | null; readonly onClose: () => void };

/** Confirms that a key is revoked; null closes the dialog. */
export function RevokeDialog({ apiKey, onClose }: RevokeDialogProps) {
  const { t } = useTranslation('api-keys');
  const shown = useLast(apiKey);
  const name = shown === null ? '' : nameOf(shown);
  const revoke = useAction({
    run: (id: number) => ok(api.DELETE(`${KEYS}/{id}`, { params: { path: { id } } })),
    refresh: [['api-keys']],
    done: t('revoke.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={apiKey !== null}
      onClose={onClose}
      title={t('revoke.title', { name })}
      action={t('revoke.submit')}
      onConfirm={() => apiKey && revoke.run(apiKey.id)}
      busy={revoke.busy}
    >
      {t('revoke.text')}
    </ConfirmDialog>
  );
}
