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
import { MayButton } from '../../../ui/actions/may-button.tsx';
import { type Campaign, NEED, ONE, toIso } from '../../campaign.ts';
import type { Counted } from '../../price/price.ts';
import { Unmet } from './unmet.tsx';
import type { EditorState } from '../use-editor.ts';

/** The specification's order: the configuration is marked final, then it is confirmed. */
async function confirm(id: number): Promise<Campaign> {
  const params = { path: { id } };
  await ok(api.PUT(ONE, { params, body: { readyToSend: true } }));
  return ok(api.PUT(`${ONE}/confirm`, { params }));
}

type ConfirmProps = {
  readonly editor: EditorState;
  readonly counted: Counted;
  readonly isReady: boolean;
  /** The way back, at the left. */
  readonly back: ReactNode;
};

/** The last word: a dialog that says to how many it goes, when, and for how much. */
export function Confirm({ editor, counted: { campaign }, isReady, back }: ConfirmProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const navigate = useNavigate();
  const [opened, setOpened] = useState(false);
  const words = useWords(campaign);
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
        <MayButton
          need={NEED}
          because={because}
          size="md"
          leftSection={<Sign size={18} />}
          onClick={() => setOpened(true)}
        >
          {words.open}
        </MayButton>
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

function useWords({ name, totalDestinations, estimatedCost, currency, scheduledDate }: Campaign) {
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
