import { useDisclosure } from '@mantine/hooks';
import { RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/confirm-dialog.tsx';
import { MayIcon } from '../ui/may-button.tsx';
import { type ApiKey, KEYS, nameOf, NEED } from './api-key.ts';
import { RotateDialog } from './rotate-dialog.tsx';

/** What can be done with one key. */
export function KeyActions({ apiKey }: { readonly apiKey: ApiKey }) {
  const { t } = useTranslation('api-keys');
  const [isRotating, rotating] = useDisclosure();
  const [isRevoking, revoking] = useDisclosure();
  const name = nameOf(apiKey);
  const expired = apiKey.status === 'expired' && t('rotate.expired');
  return (
    <>
      <MayIcon need={NEED} because={expired} label={t('rotate.label', { name })} onClick={rotating.open}>
        <RefreshCw size={16} />
      </MayIcon>
      <MayIcon need={NEED} label={t('revoke.label', { name })} onClick={revoking.open}>
        <Trash2 size={16} />
      </MayIcon>
      <RotateDialog apiKey={apiKey} opened={isRotating} onClose={rotating.close} />
      <RevokeDialog apiKey={apiKey} opened={isRevoking} onClose={revoking.close} />
    </>
  );
}

type RevokeProps = { readonly apiKey: ApiKey; readonly opened: boolean; readonly onClose: () => void };

function RevokeDialog({ apiKey, opened, onClose }: RevokeProps) {
  const { t } = useTranslation('api-keys');
  const name = nameOf(apiKey);
  const revoke = useAction({
    run: () => ok(api.DELETE(`${KEYS}/{id}`, { params: { path: { id: apiKey.id } } })),
    refresh: [['api-keys']],
    done: t('revoke.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('revoke.title', { name })}
      action={t('revoke.submit')}
      onConfirm={revoke.run}
      busy={revoke.busy}
    >
      {t('revoke.text')}
    </ConfirmDialog>
  );
}
