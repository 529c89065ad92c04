import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Copy, Download, Pause, Pencil, Play, Trash2, Undo2, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { ConfirmDialog, Dialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ButtonLink, ErrorState, useLast } from '../ui/parts.tsx';
import { JobProgress } from '../ui/values.tsx';
import {
  CAMPAIGN,
  type Campaign,
  isDeletable,
  isEditable,
  isFinished,
  isSending,
  NEED,
  useDuplicate,
} from './campaign.ts';

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

const FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
type Format = (typeof FORMATS)[number];

const EXPORTS = '/api/partner-gateway/v1/exports';

type ExportDialogProps = { readonly campaign: Campaign; readonly opened: boolean; readonly onClose: () => void };

/** Dialog that requests a campaign's delivery report, waits for it and offers the download. */
function ExportDialog({ campaign, opened, onClose }: ExportDialogProps) {
  const { t } = useTranslation('campaigns');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('export.title', { name: campaign.name })}>
      {opened && <Export id={campaign.id} />}
    </Dialog>
  );
}

function Export({ id }: { readonly id: number }) {
  const { t } = useTranslation('campaigns');
  const [format, setFormat] = useState<Format>('csv');
  const ask = useAction({
    run: () => ok(api.POST(`${EXPORTS}/delivery-reports`, { body: { campaignId: id, format } })),
    refresh: [['exports']],
  });
  if (ask.result !== undefined) return <Job exportId={ask.result.exportId} />;
  return (
    <Stack>
      <Text size="sm">{t('export.text')}</Text>
      <NativeSelect
        label={t('export.format')}
        data={FORMATS.map((value) => ({ value, label: t(`export.formats.${value.replace('.', '')}`) }))}
        value={format}
        onChange={(event) => setFormat(FORMATS.find((each) => each === event.currentTarget.value) ?? 'csv')}
      />
      <Group justify="flex-end">
        <Button loading={ask.busy} onClick={() => ask.run()}>
          {t('export.submit')}
        </Button>
      </Group>
    </Stack>
  );
}

const POLL_MS = 1000;

function Job({ exportId }: { readonly exportId: string }) {
  const { t } = useTranslation('campaigns');
  const { data, error, refetch } = useQuery({
    queryKey: ['exports', exportId],
    queryFn: ({ signal }) => ok(api.GET(`${EXPORTS}/{exportId}`, { params: { path: { exportId } }, signal })),
    refetchInterval: ({ state }) => (state.data?.status === 'PENDING' || !state.data ? POLL_MS : false),
  });
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  const tone = data?.status === 'FAILED' ? 'failed' : data?.status === 'COMPLETED' ? 'done' : 'running';
  return (
    <Stack>
      <JobProgress label={t('export.writing')} done={data?.progress ?? 0} total={data ? 1 : null} tone={tone} compact />
      <Text size="sm" role="status">
        {t(`export.${tone}`, { count: data?.rows ?? 0, reason: data?.failureReason ?? '' })}
      </Text>
      <Group justify="flex-end">
        <ButtonLink to="/exports" variant="default">
          {t('export.all')}
        </ButtonLink>
        {data?.downloadUrl && (
          <Button component="a" href={data.downloadUrl} leftSection={<Download size={16} />}>
            {t('export.download')}
          </Button>
        )}
      </Group>
    </Stack>
  );
}

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
