import { useNavigate } from '@tanstack/react-router';
import { Copy, Download, Pause, Pencil, Play, Trash2, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { MayButton } from '../../ui/actions/may-button.tsx';
import { type Campaign, isDeletable, isOpen, isOver, isUnderWay, NEED, ONE } from '../campaign.ts';
import { DeleteDialog } from '../delete-dialog.tsx';
import { ExportDialog } from './export-dialog.tsx';
import { useDuplicate } from '../use-duplicate.ts';

type ActionsProps = { readonly campaign: Campaign };
type Open = 'delete' | 'cancel' | 'export' | null;

/** What can be done with a campaign where it is in its life. */
export function Actions({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const duplicate = useDuplicate();
  return (
    <>
      <MayButton
        need={NEED}
        variant="default"
        leftSection={<Copy size={16} />}
        loading={duplicate.busy}
        onClick={() => duplicate.run(campaign)}
      >
        {t('menu.duplicate')}
      </MayButton>
      {!isDeletable(campaign) && (
        <MayButton
          need={{ scope: 'exports', write: true }}
          variant="default"
          leftSection={<Download size={16} />}
          onClick={() => setOpen('export')}
        >
          {t('export.open')}
        </MayButton>
      )}
      {isDeletable(campaign) && (
        <MayButton need={NEED} variant="default" leftSection={<Trash2 size={16} />} onClick={() => setOpen('delete')}>
          {t('menu.delete')}
        </MayButton>
      )}
      {isOpen(campaign) && (
        <MayButton
          need={NEED}
          variant="default"
          leftSection={<Pencil size={16} />}
          onClick={() => void navigate({ to: '/campaigns/editor', search: { id: campaign.id } })}
        >
          {t('menu.edit')}
        </MayButton>
      )}
      {canBeHeld(campaign) && <Hold campaign={campaign} onCancel={() => setOpen('cancel')} />}
      <DeleteDialog
        campaign={open === 'delete' ? campaign : null}
        onClose={close}
        onDone={() => void navigate({ to: '/campaigns' })}
      />
      <CancelDialog campaign={campaign} opened={open === 'cancel'} onClose={close} />
      <ExportDialog campaign={campaign} opened={open === 'export'} onClose={close} />
    </>
  );
}

/** What is being sent, and what missed its time and waits for somebody to resume it. */
const canBeHeld = (campaign: Campaign): boolean =>
  !isOver(campaign) && !campaign.cancelled && (isUnderWay(campaign) || campaign.paused);

function useMove(move: 'pause' | 'resume' | 'cancel', id: number, onDone?: () => void) {
  const { t } = useTranslation('campaigns');
  return useAction({
    run: () => ok(api.PUT(`${ONE}/${move}`, { params: { path: { id } } })),
    refresh: [['campaign', id], ['campaigns'], ['credit']],
    done: t(`${move}.done`),
    ...(onDone && { onDone }),
  });
}

function Hold({ campaign, onCancel }: ActionsProps & { readonly onCancel: () => void }) {
  const { t } = useTranslation('campaigns');
  const { id, paused } = campaign;
  const pause = useMove('pause', id);
  const resume = useMove('resume', id);
  const [move, Sign, word] = paused ? [resume, Play, 'resume'] : [pause, Pause, 'pause'];
  return (
    <>
      {isUnderWay(campaign) && (
        <MayButton need={NEED} variant="default" leftSection={<X size={16} />} onClick={onCancel}>
          {t('cancel.open')}
        </MayButton>
      )}
      <MayButton need={NEED} leftSection={<Sign size={16} />} loading={move.busy} onClick={() => move.run()}>
        {t(`${word}.open`)}
      </MayButton>
    </>
  );
}

type CancelDialogProps = ActionsProps & { readonly opened: boolean; readonly onClose: () => void };

function CancelDialog({ campaign, opened, onClose }: CancelDialogProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const cancel = useMove('cancel', campaign.id, onClose);
  const { name, totalPending } = campaign;
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('cancel.title', { name })}
      action={t('cancel.submit')}
      busy={cancel.busy}
      onConfirm={() => cancel.run()}
    >
      {t('cancel.text', { count: totalPending, shown: format.number(totalPending) })}
    </ConfirmDialog>
  );
}
