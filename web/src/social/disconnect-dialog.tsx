import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { disconnectProfile, type Network } from './profile.ts';

type DisconnectDialogProps = { readonly network: Network | null; readonly onClose: () => void };

/** Confirms that a profile is revoked and deleted; null closes the dialog. */
export function DisconnectDialog({ network, onClose }: DisconnectDialogProps) {
  const { t } = useTranslation('social');
  const name = useLast(network)?.label ?? '';
  const disconnect = useAction({
    run: disconnectProfile,
    refresh: [['socials']],
    done: t('disconnect.done', { network: name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={network !== null}
      onClose={onClose}
      title={t('disconnect.title', { network: name })}
      action={t('disconnect.submit')}
      onConfirm={() => network && disconnect.run(network.platform)}
      busy={disconnect.busy}
    >
      {t('disconnect.text', { network: name })}
    </ConfirmDialog>
  );
}
