import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Export, EXPORTS } from './export.ts';

type DeleteDialogProps = { readonly row: Export | null; readonly onClose: () => void };

/** Confirms that an export and its file are deleted; null closes the dialog. */
export function DeleteDialog({ row, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('exports');
  const shown = useLast(row);
  const name = shown === null ? '' : t(`type.${shown.type}`);
  const remove = useAction({
    run: (exportId: string) => ok(api.DELETE(`${EXPORTS}/{exportId}`, { params: { path: { exportId } } })),
    refresh: [['exports']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={row !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => row && remove.run(row.exportId)}
      busy={remove.busy}
    >
      {t(shown?.status === 'PENDING' ? 'delete.unfinished' : 'delete.text')}
    </ConfirmDialog>
  );
}
