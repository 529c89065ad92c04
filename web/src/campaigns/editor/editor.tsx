import { Alert, Button, Group, Skeleton, Text } from '@mantine/core';
import { ArrowRight, CalendarClock, History } from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../../api/connection/lazy-part.ts';
import { useAction } from '../../api/action.ts';
import { toIso } from '../../api/scheduled-date.ts';
import { Page as Frame } from '../../ui/page.tsx';
import { Steps } from '../../ui/stepper.tsx';
import { useFormat } from '../../ui/values/format.ts';
import { useNow } from '../../ui/values/use-now.ts';
import { BackButton } from './back-button.tsx';
import { ChannelsStep } from './channels/step.tsx';
import { lackingOf, placeOf, type StepId, STEPS } from './draft.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { modeName } from '../mode-name.ts';
import { Conflict, SaveStatus } from './saving/status.tsx';
import { deleteDraft, type DraftEntry } from './saving/stored-draft.ts';
import { type EditorInput, type EditorState, useEditor } from './use-editor.ts';

/** Each step is loaded on its first visit: together they would be too large for the page. */
const RecipientsStep = lazyPart(() =>
  import('./recipients/step.tsx').then((file) => ({ default: file.RecipientsStep })),
);
const TextStep = lazyPart(() => import('./text/step.tsx').then((file) => ({ default: file.TextStep })));
const TimeStep = lazyPart(() => import('./time-step.tsx').then((file) => ({ default: file.TimeStep })));
const ReviewStep = lazyPart(() => import('./review/step.tsx').then((file) => ({ default: file.ReviewStep })));

type EditorProps = EditorInput & {
  /** The changes to an existing campaign with which the editor was opened; null: there were none. */
  readonly changes: DraftEntry | null;
  readonly onReload: () => void;
};

/** The editor of a campaign that has not started, in five steps that can be visited in any order. */
export function Editor({ changes, onReload, ...input }: EditorProps) {
  const { t } = useTranslation('campaigns');
  const editor = useEditor(input);
  const { form, step, goTo, saving, visited } = editor;
  const now = useNow(MINUTE_MS);
  const notes = useNotes(editor);
  const lacking = lackingOf(form.getValues(), now);
  const faulty = Object.keys(form.errors).map((field) => placeOf(field)?.[1]);
  const contents: Readonly<Record<StepId, ReactNode>> = {
    channels: <ChannelsStep form={form} />,
    recipients: <RecipientsStep form={form} />,
    text: <TextStep form={form} />,
    time: <TimeStep form={form} />,
    review: <ReviewStep editor={editor} />,
  };
  const lacks = (id: StepId): boolean => lacking[id] > 0 && (visited.has(id) || visited.has('review'));
  return (
    <Frame
      title={form.getValues().name || t(input.place.campaignId === 0 ? 'editor.new' : 'editor.edit')}
      trail={[{ label: t('title'), to: '/campaigns' }]}
      actions={<SaveStatus saving={saving} />}
    >
      {input.scheduled !== null && <ScheduledNote editor={editor} />}
      {changes !== null && <ChangesNote changes={changes} editor={editor} onDiscarded={onReload} />}
      <Conflict saving={saving} onReload={() => reloadTheirs(editor, onReload)} />
      <Steps
        steps={STEPS.map((id) => ({
          id,
          label: t(`step.${id}`),
          note: lacks(id) ? t('note.lacking', { count: lacking[id] }) : notes[id],
          hasFault: faulty.includes(id),
          isLacking: id !== step && lacking[id] > 0,
          content: <Suspense fallback={<Skeleton h={320} mt="md" />}>{contents[id]}</Suspense>,
        }))}
        active={step}
        onChange={(id) => goTo(STEPS.find((one) => one === id) ?? step)}
        footer={step === 'review' ? undefined : <Footer step={step} goTo={goTo} />}
      />
      <LeaveGuard isDirty={!saving.isKept} />
    </Frame>
  );
}

const MINUTE_MS = 60_000;

function reloadTheirs({ saving }: EditorState, onReload: () => void): void {
  saving.forget();
  onReload();
}

/** Notes that the campaign is scheduled as it was, until the changes are applied. */
function ScheduledNote({ editor: { scheduled } }: { readonly editor: EditorState }) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  if (!scheduled?.scheduledDate) return null;
  return (
    <Alert color="blue" icon={<CalendarClock size={20} />} mb="md">
      {t('editor.scheduled', { at: format.brief(new Date(toIso(scheduled.scheduledDate))) })}
    </Alert>
  );
}

type ChangesNoteProps = {
  readonly changes: DraftEntry;
  readonly editor: EditorState;
  readonly onDiscarded: () => void;
};

/** Notes that the editor shows changes that the campaign does not have yet, and offers to discard them. */
function ChangesNote({ changes, editor, onDiscarded }: ChangesNoteProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const discard = useAction({
    run: () => {
      editor.saving.forget();
      return deleteDraft(changes.id);
    },
    refresh: [['campaign-drafts']],
    onDone: onDiscarded,
  });
  return (
    <Alert color="blue" icon={<History size={20} />} mb="md">
      <Group justify="space-between" gap="xs">
        <Text size="sm">
          {t(changes.updatedBy === null ? 'editor.changes' : 'editor.changesBy', {
            at: format.brief(new Date(changes.updatedAt)),
            name: changes.updatedBy,
          })}
        </Text>
        <Button size="xs" variant="default" loading={discard.busy} onClick={() => discard.run()}>
          {t('editor.discard')}
        </Button>
      </Group>
    </Alert>
  );
}

type FooterProps = { readonly step: StepId; readonly goTo: (step: StepId) => void };

function Footer({ step, goTo }: FooterProps) {
  const { t } = useTranslation('campaigns');
  const at = STEPS.indexOf(step);
  const [before, after] = [STEPS[at - 1], STEPS[at + 1]];
  return (
    <>
      {before === undefined ? <span /> : <BackButton onClick={() => goTo(before)} />}
      {after !== undefined && (
        <Button rightSection={<ArrowRight size={16} />} onClick={() => goTo(after)}>
          {t('editor.next', { step: t(`step.${after}`) })}
        </Button>
      )}
    </>
  );
}

/** A short summary of the choices in each step. */
function useNotes({ form }: EditorState): Partial<Record<StepId, string>> {
  const { t } = useTranslation('campaigns');
  const { sendingMode, recipients, contactListIds, when } = form.getValues();
  return {
    channels: modeName(t, sendingMode),
    ...(recipients === 'lists' && { recipients: t('note.lists', { count: contactListIds.length }) }),
    time: t(when === 'now' ? 'note.now' : 'note.later'),
  };
}
