import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { CalendarClock, Copy, Download, Pause, Pencil, Play, Send, Trash2, Undo2, X } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { toIso } from '../api/data.ts';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { momentValue } from '../ui/date-text.ts';
import { confirm, Dialog, openDialog, questionTexts } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { useDialog } from '../ui/lazy-props.ts';
import { ButtonLink, ErrorState } from '../ui/parts.tsx';
import { JobProgress } from '../ui/values.tsx';
import { WhenChoice } from '../ui/when-choice.tsx';
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

/** The permission that exports require. */
export const EXPORT_NEED: Need = { scope: 'exports', write: true };

type ActionsProps = { readonly campaign: Campaign };
/** The actions that a campaign's status allows. */
export function Actions({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const navigate = useNavigate();
  const duplicate = useDuplicate();
  const askToDelete = useDelete();
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
          need={EXPORT_NEED}
          variant="default"
          leftSection={<Download size={16} />}
          onClick={() => openDialog(<ExportDialog campaign={campaign} />)}
        >
          {t('export.open')}
        </GuardedButton>
      )}
      {isDeletable(campaign) && (
        <GuardedButton
          need={NEED}
          variant="default"
          leftSection={<Trash2 size={16} />}
          onClick={() => askToDelete(campaign, () => void navigate({ to: '/campaigns' }))}
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
        <>
          <TakeBackButton campaign={campaign} />
          {campaign.localTime === null && <TimeActions campaign={campaign} />}
        </>
      )}
      {canPauseOrResume(campaign) && <SendingActions campaign={campaign} />}
    </>
  );
}

/** Takes back the confirmation of a campaign that waits for its time. */
function TakeBackButton({ campaign: { id, name } }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const ask = (): void =>
    confirm({
      ...questionTexts(t, 'takeBack', { name }),
      run: () => ok(api.PUT(CAMPAIGN, { params: { path: { id } }, body: { readyToSend: false } })),
      refresh: [['campaign', id], ['campaigns'], ['credit']],
    });
  return (
    <GuardedButton need={NEED} variant="default" leftSection={<Undo2 size={16} />} onClick={ask}>
      {t('takeBack.open')}
    </GuardedButton>
  );
}

/** Changes only the time of a scheduled campaign, which stays confirmed: to another one, or to now. */
function TimeActions({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { id, name, estimatedCost, currency } = campaign;
  const sendNow = (): void =>
    confirm({
      ...questionTexts(t, 'sendNow', { name, cost: format.money(estimatedCost, currency) }),
      kind: 'normal',
      ...moveTo(id, null),
    });
  return (
    <>
      <GuardedButton
        need={NEED}
        variant="default"
        leftSection={<CalendarClock size={16} />}
        onClick={() => openDialog(<RescheduleDialog campaign={campaign} />)}
      >
        {t('reschedule.open')}
      </GuardedButton>
      <GuardedButton need={NEED} leftSection={<Send size={16} />} onClick={sendNow}>
        {t('sendNow.open')}
      </GuardedButton>
    </>
  );
}

const moveTo = (id: number, at: Date | null) => ({
  run: () =>
    ok(api.PUT(CAMPAIGN, { params: { path: { id } }, body: { scheduledDate: at === null ? null : at.toISOString() } })),
  refresh: [['campaign', id], ['campaigns']],
});

/** Dialog that changes when a scheduled campaign starts. */
function RescheduleDialog({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  return (
    <Dialog title={t('reschedule.title')} size="sm">
      <NewTime campaign={campaign} />
    </Dialog>
  );
}

const MORNING = 10;
const HOUR_MS = 3_600_000;

function NewTime({ campaign: { id, scheduledDate } }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const { close } = useDialog();
  const format = useFormat();
  const [now] = useState(() => new Date());
  const move = useAction({
    run: (at: Date) => moveTo(id, at).run(),
    refresh: moveTo(id, null).refresh,
    done: (_, at) => t('reschedule.done', { at: format.brief(at) }),
    onDone: close,
  });
  const morning = (days: number): Date => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, MORNING);
  return (
    <WhenChoice
      times={[
        { label: t('reschedule.hour'), at: new Date(now.getTime() + HOUR_MS) },
        { label: t('reschedule.tomorrow'), at: morning(1) },
        { label: t('reschedule.monday'), at: morning((8 - now.getDay()) % 7 || 7) },
      ]}
      label={t('reschedule.own')}
      action={t('reschedule.submit')}
      value={scheduledDate === null ? '' : momentValue(new Date(toIso(scheduledDate)))}
      onChoose={(at) => move.run(at)}
    />
  );
}

/** A campaign that is being sent, or that missed its time and waits to be resumed. */
const canPauseOrResume = (campaign: Campaign): boolean =>
  !isFinished(campaign) && !campaign.cancelled && (isSending(campaign) || campaign.paused);

const changeStatus = (id: number, move: 'pause' | 'resume' | 'cancel') => ({
  run: () => ok(api.PUT(`${CAMPAIGN}/${move}`, { params: { path: { id } } })),
  refresh: [['campaign', id], ['campaigns'], ['credit']],
});

function SendingActions({ campaign }: ActionsProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const { id, name, paused, totalPending: count } = campaign;
  const [word, Sign] = paused ? (['resume', Play] as const) : (['pause', Pause] as const);
  const move = useAction({ ...changeStatus(id, word), done: t(`${word}.done`) });
  const cancel = (): void =>
    confirm({
      ...questionTexts(t, 'cancel', { name, count, shown: format.number(count) }),
      ...changeStatus(id, 'cancel'),
    });
  return (
    <>
      {isSending(campaign) && (
        <GuardedButton need={NEED} variant="default" leftSection={<X size={16} />} onClick={cancel}>
          {t('cancel.open')}
        </GuardedButton>
      )}
      <GuardedButton need={NEED} leftSection={<Sign size={16} />} loading={move.busy} onClick={() => move.run()}>
        {t(`${word}.open`)}
      </GuardedButton>
    </>
  );
}

const FORMATS = ['csv', 'csv.gz', 'xlsx'] as const;
type Format = (typeof FORMATS)[number];

const EXPORTS = '/api/partner-gateway/v1/exports';

const WHO = ['all', 'notReached'] as const;
type ExportValues = { readonly who: (typeof WHO)[number]; readonly format: Format };

/** Dialog that requests a campaign's delivery report, waits for it and offers the download. */
export function ExportDialog({ campaign, who = 'all' }: ActionsProps & { readonly who?: ExportValues['who'] }) {
  const { t } = useTranslation('campaigns');
  const { number } = useFormat();
  const { id, name, totalFailed } = campaign;
  return (
    <FormDialog<ExportValues, { readonly exportId: string }>
      title={t('export.title', { name })}
      values={{ who, format: 'csv' }}
      run={(values) =>
        ok(
          api.POST(`${EXPORTS}/delivery-reports`, {
            body: { campaignId: id, format: values.format, notReached: values.who === 'notReached' },
          }),
        )
      }
      refresh={[['exports']]}
      action={t('export.submit')}
      result={({ exportId }) => <Job exportId={exportId} />}
    >
      {(form) => (
        <>
          <NativeSelect
            label={t('export.who')}
            description={t(`export.text.${form.values.who}`)}
            data={WHO.map((value) => ({ value, label: t(`export.of.${value}`, { shown: number(totalFailed) }) }))}
            {...form.getInputProps('who')}
          />
          <NativeSelect
            label={t('export.format')}
            data={FORMATS.map((value) => ({ value, label: t(`export.formats.${value.replace('.', '')}`) }))}
            {...form.getInputProps('format')}
          />
        </>
      )}
    </FormDialog>
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

/** Returns the function that deletes a campaign that has not started, after a confirmation. */
export function useDelete() {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  return (campaign: Campaign, onDone?: () => void): void => {
    const { id, name, estimatedCost, currency } = campaign;
    confirm({
      ...questionTexts(t, 'delete', { name }),
      ...(!isEditable(campaign) && { text: t('delete.scheduled', { cost: format.money(estimatedCost, currency) }) }),
      run: () => ok(api.DELETE(CAMPAIGN, { params: { path: { id } } })),
      refresh: [['campaigns'], ['credit']],
      onDone,
    });
  };
}
