import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { FORM_A, type Webhook } from './webhook.ts';

type DeleteDialogProps = { readonly webhook: Webhook; readonly opened: boolean; readonly onClose: () => void };

/** Confirms that the webhook and its pending events are deleted. */
export function DeleteDialog({ webhook, opened, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('webhooks');
  const remove = useAction({
    run: () => ok(api.DELETE(FORM_A)),
    refresh: [['webhooks']],
    done: t('delete.done'),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('delete.title', { host: new URL(webhook.callbackUrl).host })}
      action={t('delete.submit')}
      onConfirm={() => remove.run()}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}
