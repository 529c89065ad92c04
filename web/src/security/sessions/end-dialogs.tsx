import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../../ui/use-last.ts';
import { useDeviceName } from './columns.tsx';
import { endOthers, endSession, type Entry } from './session-entry.ts';

type EndDialogProps = { readonly entry: Entry | null; readonly onClose: () => void };

/** Confirms that a session is ended; null closes the dialog. */
export function EndDialog({ entry, onClose }: EndDialogProps) {
  const { t } = useTranslation('security');
  const deviceName = useDeviceName();
  const shown = useLast(entry);
  const names = { username: shown?.username ?? '', device: shown === null ? '' : deviceName(shown) };
  const end = useAction({
    run: endSession,
    refresh: [['sessions']],
    done: t('end.done', names),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={entry !== null}
      onClose={onClose}
      title={t('end.title', names)}
      action={t('end.submit')}
      onConfirm={() => entry && end.run(entry.id)}
      busy={end.busy}
    >
      {t('end.text', names)}
    </ConfirmDialog>
  );
}

type EndOthersProps = { readonly opened: boolean; readonly onClose: () => void };

export function EndOthersDialog({ opened, onClose }: EndOthersProps) {
  const { t } = useTranslation('security');
  const end = useAction<void, number>({
    run: endOthers,
    refresh: [['sessions']],
    done: (count) => t('endOthers.done', { count }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('endOthers.title')}
      action={t('endOthers.submit')}
      onConfirm={() => end.run()}
      busy={end.busy}
    >
      {t('endOthers.text')}
    </ConfirmDialog>
  );
}
