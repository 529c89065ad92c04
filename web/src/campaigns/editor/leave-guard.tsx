import { useBlocker } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';

/**
 * Asks before the user leaves input that neither the server nor this browser can keep. Changing the step does not count
 * as leaving.
 */
export function LeaveGuard({ isDirty }: { readonly isDirty: boolean }) {
  const { t } = useTranslation('campaigns');
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={t('leave.title')}
      action={t('leave.submit')}
      onConfirm={() => proceed?.()}
    >
      {t('leave.text')}
    </ConfirmDialog>
  );
}
