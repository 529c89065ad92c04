import { Button, Group, Skeleton, Text } from '@mantine/core';
import { ArrowRight, Save } from 'lucide-react';
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../../ui/page.tsx';
import { Steps } from '../../ui/stepper.tsx';
import { BackButton } from './back-button.tsx';
import { ChannelsStep } from './channels/step.tsx';
import { placeOf, type StepId, STEPS } from './draft.ts';
import { LeaveGuard } from './leave-guard.tsx';
import { modeName } from '../mode-name.ts';
import { type EditorInput, type EditorState, useEditor } from './use-editor.ts';

/** Each step is loaded on its first visit: together they would be too large for the page. */
const RecipientsStep = lazy(() => import('./recipients/step.tsx').then((file) => ({ default: file.RecipientsStep })));
const TextStep = lazy(() => import('./text/step.tsx').then((file) => ({ default: file.TextStep })));
const TimeStep = lazy(() => import('./time-step.tsx').then((file) => ({ default: file.TimeStep })));
const ReviewStep = lazy(() => import('./review/step.tsx').then((file) => ({ default: file.ReviewStep })));

/** The editor of an unconfirmed campaign, in five steps that can be visited in any order. */
export function Editor(input: EditorInput) {
  const { t } = useTranslation('campaigns');
  const editor = useEditor(input);
  const { form, step, goTo } = editor;
  const notes = useNotes(editor);
  const faulty = Object.keys(form.errors).map((field) => placeOf(field)?.[1]);
  const contents: Readonly<Record<StepId, ReactNode>> = {
    channels: <ChannelsStep form={form} />,
    recipients: <RecipientsStep form={form} />,
    text: <TextStep form={form} />,
    time: <TimeStep form={form} />,
    review: <ReviewStep editor={editor} />,
  };
  return (
    <Frame
      title={input.id === 0 ? t('editor.new') : form.getValues().name || t('editor.edit')}
      trail={[{ label: t('title'), to: '/campaigns' }]}
      actions={<SaveButton editor={editor} />}
    >
      <Steps
        steps={STEPS.map((id) => ({
          id,
          label: t(`step.${id}`),
          note: notes[id],
          hasFault: faulty.includes(id),
          content: <Suspense fallback={<Skeleton h={320} mt="md" />}>{contents[id]}</Suspense>,
        }))}
        active={step}
        onChange={(id) => goTo(STEPS.find((one) => one === id) ?? step)}
        footer={step === 'review' ? undefined : <Footer step={step} goTo={goTo} />}
      />
      <LeaveGuard isDirty={form.isDirty()} />
    </Frame>
  );
}

function SaveButton({ editor: { save, saving, isSaved, form } }: { readonly editor: EditorState }) {
  const { t } = useTranslation('campaigns');
  return (
    <Group gap="sm">
      <Text size="sm" c="dimmed" role="status">
        {isSaved ? t('editor.saved') : form.isDirty() ? t('editor.unsaved') : ''}
      </Text>
      <Button variant="default" leftSection={<Save size={16} />} loading={saving} onClick={() => void save()}>
        {t('editor.save')}
      </Button>
    </Group>
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
