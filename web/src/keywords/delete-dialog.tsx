import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type Rule, RULE_KEYS, RULES } from './rule.ts';

type DeleteProps = { readonly rule: Rule | null; readonly onClose: () => void };

/** Confirms that a rule is deleted; null closes the dialog. */
export function DeleteDialog({ rule, onClose }: DeleteProps) {
  const { t } = useTranslation('keywords');
  const keyword = useLast(rule)?.keyword ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${RULES}/{id}`, { params: { path: { id } } })),
    refresh: RULE_KEYS,
    done: t('delete.done', { keyword }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={rule !== null}
      onClose={onClose}
      title={t('delete.title', { keyword })}
      action={t('delete.submit')}
      onConfirm={() => rule && remove.run(rule.id)}
      busy={remove.busy}
    >
      {t('delete.text')}
    </ConfirmDialog>
  );
}
