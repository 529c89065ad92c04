import { useNavigate } from '@tanstack/react-router';
import { Copy, Download, Pause, Pencil, Play, Trash2, Undo2, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { type Campaign, isDeletable, isEditable, isFinished, isSending, NEED, CAMPAIGN } from '../campaign.ts';
import { DeleteDialog } from '../delete-dialog.tsx';
import { ExportDialog } from './export-dialog.tsx';
import { useDuplicate } from '../use-duplicate.ts';

type ActionsProps = { readonly campaign: Campaign };
type Open = 'delete' | 'take-back' | 'cancel' | 'export' | null;

/** The actions that a campaign's status allows. */
export function Actions({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const [open, setOpen] = useState<Open>(null);
  const close = (): void => setOpen(null);
  const duplicate = useDuplicate();
  return (
    <>
      <GuardedButton
        need={NEED}
        variant="default"
        leftSection={<Copy size={16} />}
        loading={duplicate.busy}
        onClick={() => duplicate.run(campaign)}
      >
        {t('menu.duplicate')}
      </GuardedButton>
      {!isDeletable(campaign) && (
        <GuardedButton
          need={{ scope: 'exports', write: true }}
          variant="default"
          leftSection={<Download size={16} />}
          onClick={() => setOpen('export')}
        >
          {t('export.open')}
        </GuardedButton>
      )}
      {isDeletable(campaign) && (
        <GuardedButton
          need={NEED}
          variant="default"
          leftSection={<Trash2 size={16} />}
          onClick={() => setOpen('delete')}
        >
          {t('menu.delete')}
        </GuardedButton>
      )}
      {isDeletable(campaign) && (
        <GuardedButton
          need={NEED}
          variant="default"
          leftSection={<Pencil size={16} />}
          onClick={() => void navigate({ to: '/campaigns/editor', search: { id: campaign.id } })}
        >
          {t('menu.edit')}
        </GuardedButton>
      )}
      {isDeletable(campaign) && !isEditable(campaign) && (
        <GuardedButton
          need={NEED}
          variant="default"
          leftSection={<Undo2 size={16} />}
          onClick={() => setOpen('take-back')}
        >
          {t('takeBack.open')}
        </GuardedButton>
      )}
      {canPauseOrResume(campaign) && <SendingActions campaign={campaign} onCancel={() => setOpen('cancel')} />}
      <DeleteDialog
        campaign={open === 'delete' ? campaign : null}
        onClose={close}
        onDone={() => void navigate({ to: '/campaigns' })}
      />
      <TakeBackDialog campaign={campaign} opened={open === 'take-back'} onClose={close} />
      <CancelDialog campaign={campaign} opened={open === 'cancel'} onClose={close} />
      <ExportDialog campaign={campaign} opened={open === 'export'} onClose={close} />
    </>
  );
}

/** A campaign that is being sent, or that missed its time and waits to be resumed. */
const canPauseOrResume = (campaign: Campaign): boolean =>
  !isFinished(campaign) && !campaign.cancelled && (isSending(campaign) || campaign.paused);

function useStatusChange(move: 'pause' | 'resume' | 'cancel', id: number, onDone?: () => void) {
  const { t } = useTranslation('campaigns');
  return useAction({
    run: () => ok(api.PUT(`${CAMPAIGN}/${move}`, { params: { path: { id } } })),
    refresh: [['campaign', id], ['campaigns'], ['credit']],
    done: t(`${move}.done`),
    ...(onDone && { onDone }),
  });
}

function SendingActions({ campaign, onCancel }: ActionsProps & { readonly onCancel: () => void }) {
  const { t } = useTranslation('campaigns');
  const { id, paused } = campaign;
  const pause = useStatusChange('pause', id);
  const resume = useStatusChange('resume', id);
  const [move, Sign, word] = paused ? [resume, Play, 'resume'] : [pause, Pause, 'pause'];
  return (
    <>
      {isSending(campaign) && (
        <GuardedButton need={NEED} variant="default" leftSection={<X size={16} />} onClick={onCancel}>
          {t('cancel.open')}
        </GuardedButton>
      )}
      <GuardedButton need={NEED} leftSection={<Sign size={16} />} loading={move.busy} onClick={() => move.run()}>
        {t(`${word}.open`)}
      </GuardedButton>
    </>
  );
}

type DialogProps = ActionsProps & { readonly opened: boolean; readonly onClose: () => void };

/** Takes back the confirmation of a campaign that waits for its time. */
function TakeBackDialog({ campaign: { id, name }, opened, onClose }: DialogProps) {
  const { t } = useTranslation('campaigns');
  const takeBack = useAction({
    run: () => ok(api.PUT(CAMPAIGN, { params: { path: { id } }, body: { readyToSend: false } })),
    refresh: [['campaign', id], ['campaigns'], ['credit']],
    done: t('takeBack.done'),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={opened}
      onClose={onClose}
      title={t('takeBack.title', { name })}
      action={t('takeBack.submit')}
      busy={takeBack.busy}
      onConfirm={() => takeBack.run()}
    >
      {t('takeBack.text')}
    </ConfirmDialog>
  );
}

function CancelDialog({ campaign, opened, onClose }: DialogProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const cancel = useStatusChange('cancel', campaign.id, onClose);
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
