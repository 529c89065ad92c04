import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../ui/values/format.ts';
import { useLast } from '../ui/use-last.ts';
import { type List, LISTS } from './list.ts';

type DeleteDialogProps = { readonly list: List | null; readonly onClose: () => void };

/** Confirms that a list is deleted; null closes the dialog. */
export function DeleteDialog({ list, onClose }: DeleteDialogProps) {
  const { t } = useTranslation('lists');
  const format = useFormat();
  const shown = useLast(list);
  const name = shown?.name ?? '';
  const count = shown?.contactCount ?? 0;
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(LISTS, { params: { query: { ids: String(id) } } })),
    refresh: [['lists'], ['contacts', 'list']],
    done: t('delete.done', { name }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={list !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => list && remove.run(list.id)}
      busy={remove.busy}
    >
      {t('delete.text', { count, shown: format.number(count) })}
    </ConfirmDialog>
  );
}
