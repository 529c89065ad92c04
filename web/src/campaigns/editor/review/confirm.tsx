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
import { type Draft, scheduledAt, toBody } from '../draft.ts';
import { cityOf } from '../time-zone.ts';
import { Unmet } from './unmet.tsx';
import type { Review } from './use-review.ts';
import type { EditorState } from '../use-editor.ts';

type ConfirmProps = {
  readonly editor: EditorState;
  readonly review: Review;
  readonly isReady: boolean;
  /** The button to the previous step. */
  readonly back: ReactNode;
};

/** Confirms a saved campaign in the specification's order: the goal, `readyToSend`, then the confirmation. */
async function confirm({ id }: Campaign, maxPrice: number | null, tooDear: string): Promise<Campaign> {
  const params = { path: { id } };
  const { estimatedCost } = await ok(api.POST(`${CAMPAIGN}/calculateGoal`, { params }));
  // A list may have grown since the price was shown.
  if (maxPrice !== null && estimatedCost !== null && estimatedCost > maxPrice)
    throw new ApiError({ status: 400, message: tooDear, details: [{ field: 'goal', message: tooDear }] });
  await ok(api.PUT(CAMPAIGN, { params, body: { readyToSend: true } }));
  return ok(api.PUT(`${CAMPAIGN}/confirm`, { params }));
}

/** Applies the changes to a scheduled campaign: all of them, with the new price, or none. */
function apply(id: number, draft: Draft, maxPrice: number | null): Promise<Campaign> {
  const body = { ...toBody(draft, true), ...(maxPrice !== null && { maxPrice }) };
  return ok(api.PUT(`${CAMPAIGN}/apply`, { params: { path: { id } }, body }));
}

function useSend({ form, save, saving, scheduled }: EditorState, { maxPrice }: Review) {
  const { t } = useTranslation('campaigns');
  return async (): Promise<Campaign | null> => {
    if (scheduled === null) {
      const saved = await save();
      return saved && confirm(saved, maxPrice, t('confirm.dearer'));
    }
    const applied = await apply(scheduled.id, form.getValues(), maxPrice);
    await saving.settle(applied.id);
    return applied;
  };
}

/** The button that confirms the campaign, behind a dialog with the number of recipients, the time and the cost. */
export function Confirm({ editor, review, isReady, back }: ConfirmProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const navigate = useNavigate();
  const [opened, setOpened] = useState(false);
  const draft = editor.form.getValues();
  const words = useTexts(draft, review, editor.scheduled !== null);
  const send = useAction({
    run: useSend(editor, review),
    refresh: [['campaigns'], ['campaign'], ['credit']],
    quiet: true,
    onDone(campaign) {
      setOpened(false);
      if (campaign) void navigate({ to: `/campaigns/${campaign.id}` });
    },
  });
  const Sign = draft.when === 'now' ? Send : CalendarClock;
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
          reason={isReady ? undefined : t('confirm.notReady')}
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

function useTexts(draft: Draft, { total, maxPrice, currency }: Review, isScheduled: boolean) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const instant = scheduledAt(draft);
  const at =
    instant === null ? '' : t('time.in', { at: format.briefIn(instant, draft.zone), zone: cityOf(draft.zone) });
  const cost = format.money(maxPrice, currency);
  const told = { name: draft.name.trim(), count: total, shown: format.number(total), cost, at };
  const way = isScheduled ? (instant === null ? 'applyNow' : 'apply') : instant === null ? 'now' : 'later';
  return {
    open: t(`confirm.${way}.open`, told),
    title: t(`confirm.${way}.title`, told),
    text: t(`confirm.${way}.text`, told),
    submit: t(`confirm.${way}.submit`, told),
  };
}
