import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../ui/values/format.ts';
import { useLast } from '../ui/use-last.ts';
import { type Campaign, isEditable, CAMPAIGN } from './campaign.ts';

type DeleteDialogProps = {
  readonly campaign: Campaign | null;
  readonly onClose: () => void;
  /** Called after the deletion, for example to leave the campaign's page. */
  readonly onDone?: () => void;
};

/** Confirms the deletion of a campaign that has not started; null closes the dialog. */
export function DeleteDialog({ campaign, onClose, onDone }: DeleteDialogProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const shown = useLast(campaign);
  const name = shown?.name ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(CAMPAIGN, { params: { path: { id } } })),
    refresh: [['campaigns'], ['credit']],
    done: t('delete.done', { name }),
    onDone() {
      onClose();
      onDone?.();
    },
  });
  return (
    <ConfirmDialog
      opened={campaign !== null}
      onClose={onClose}
      title={t('delete.title', { name })}
      action={t('delete.submit')}
      onConfirm={() => campaign && remove.run(campaign.id)}
      busy={remove.busy}
    >
      {shown && !isEditable(shown)
        ? t('delete.scheduled', { cost: format.money(shown.estimatedCost, shown.currency) })
        : t('delete.text')}
    </ConfirmDialog>
  );
}
