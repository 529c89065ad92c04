import { Alert, Group, Stack } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { CalendarClock, Send } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../../api/action.ts';
import { api, ok } from '../../../api/client.ts';
import { ApiError } from '../../../api/errors.ts';
import { useProblemText } from '../../../api/problem-text.ts';
import { ConfirmDialog } from '../../../ui/dialog/confirm-dialog.tsx';
import { useFormat } from '../../../ui/values/format.ts';
import { GuardedButton } from '../../../ui/actions/guarded-button.tsx';
import { type Campaign, NEED, CAMPAIGN } from '../../campaign.ts';
import { toIso } from '../../../api/scheduled-date.ts';
import type { PricedCampaign } from '../../price/price.ts';
import { Unmet } from './unmet.tsx';
import type { EditorState } from '../use-editor.ts';

/** Confirms a campaign in the specification's order: `readyToSend` first, then the confirmation. */
async function confirm(id: number): Promise<Campaign> {
  const params = { path: { id } };
  await ok(api.PUT(CAMPAIGN, { params, body: { readyToSend: true } }));
  return ok(api.PUT(`${CAMPAIGN}/confirm`, { params }));
}

type ConfirmProps = {
  readonly editor: EditorState;
  readonly counted: PricedCampaign;
  readonly isReady: boolean;
  /** The button to the previous step. */
  readonly back: ReactNode;
};

/** The button that confirms the campaign, behind a dialog with the number of recipients, the time and the cost. */
export function Confirm({ editor, counted: { campaign }, isReady, back }: ConfirmProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const navigate = useNavigate();
  const [opened, setOpened] = useState(false);
  const words = useTexts(campaign);
  const { id } = campaign;
  const send = useAction({
    run: () => confirm(id),
    refresh: [['campaigns'], ['campaign'], ['credit']],
    done: words.done,
    quiet: true,
    onDone: () => void navigate({ to: `/campaigns/${id}` }),
  });
  const because = !isReady ? t('confirm.notReady') : editor.form.isDirty() ? t('confirm.changed') : undefined;
  const Sign = campaign.scheduledDate === null ? Send : CalendarClock;
  return (
    <Stack>
      {send.error instanceof ApiError && send.error.details.length > 0 ? (
        <Unmet faults={send.error.details} goTo={editor.goTo} />
      ) : (
        send.error !== null && <Alert color="red">{problemText(send.error)}</Alert>
      )}
      <Group justify="space-between">
        {back}
        <GuardedButton
          need={NEED}
          reason={because}
          size="md"
          leftSection={<Sign size={18} />}
          onClick={() => setOpened(true)}
        >
          {words.open}
        </GuardedButton>
      </Group>
      <ConfirmDialog
        opened={opened}
        onClose={() => setOpened(false)}
        title={words.title}
        action={words.submit}
        kind="normal"
        busy={send.busy}
        onConfirm={() => void send.runAsync().catch(() => setOpened(false))}
      >
        {words.text}
      </ConfirmDialog>
    </Stack>
  );
}

function useTexts({ name, totalDestinations, estimatedCost, currency, scheduledDate }: Campaign) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const at = scheduledDate === null ? '' : format.brief(new Date(toIso(scheduledDate)));
  const cost = format.money(estimatedCost, currency);
  const told = { name, count: totalDestinations, shown: format.number(totalDestinations), cost, at };
  const way = scheduledDate === null ? 'now' : 'later';
  return {
    open: t(`confirm.${way}.open`, told),
    title: t(`confirm.${way}.title`, told),
    text: t(`confirm.${way}.text`, told),
    submit: t(`confirm.${way}.submit`, told),
    done: t(`confirm.${way}.done`, told),
  };
}
