import {
  Alert,
  Button,
  Code,
  Group,
  NativeSelect,
  Radio,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { ArrowRight, CalendarClock, CircleCheck, CloudOff, History, TriangleAlert } from 'lucide-react';
import { type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { toIso } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import { fieldOf, senderQuery, type TemplateOption, templateQuery } from '../api/networks.ts';
import { useProblemText } from '../api/passkey.ts';
import { useSession } from '../api/session.ts';
import { ConfirmDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { PageFrame, Section, TextLink } from '../ui/parts.tsx';
import { Steps } from '../ui/stepper.tsx';
import { useFieldName, useNow } from '../ui/values.tsx';
import { chainOf, MODES, modeName, type SendingMode } from './campaign.ts';
import { ChainPicture } from './chain-picture.tsx';
import { lackingOf, placeOf, STEPS, type StepId, TRAFFIC_TYPES } from './draft.ts';
import { type DraftEntry, deleteDraft, findDraft, listDrafts } from './local-copy.ts';
import { BackButton } from './preview.tsx';
import { type DraftForm, type EditorInput, type EditorState, type SavingState, useEditor } from './use-editor.ts';

/** Each step is loaded on its first visit: together they would be too large for the page. */
const RecipientsStep = lazyPart(() =>
  import('./recipients-step.tsx').then((file) => ({ default: file.RecipientsStep })),
);
const TextStep = lazyPart(() => import('./text-step.tsx').then((file) => ({ default: file.TextStep })));
const TimeStep = lazyPart(() => import('./time-step.tsx').then((file) => ({ default: file.TimeStep })));
const ReviewStep = lazyPart(() => import('./review-step.tsx').then((file) => ({ default: file.ReviewStep })));

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
    <PageFrame
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
    </PageFrame>
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

type NetworkFieldsProps = { readonly channel: 'WHATSAPP' | 'RCS'; readonly form: DraftForm };

const FIELDS = {
  WHATSAPP: { sender: 'whatsappPhoneNumberId', template: 'whatsappTemplateId' },
  RCS: { sender: 'rcsAgentId', template: 'rcsTemplateId' },
} as const;

/** The sender and the template on a network. */
function NetworkFields({ channel, form }: NetworkFieldsProps) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const senders = useQuery(senderQuery(channel));
  const templates = useQuery(templateQuery(channel));
  const fields = FIELDS[channel];
  const failed = senders.error ?? templates.error;
  return (
    <Stack gap="sm">
      {failed !== null && <Alert color="red">{problemText(failed)}</Alert>}
      <NativeSelect
        label={t(`channels.${fields.sender}`)}
        description={senders.data?.length === 0 ? t(`channels.no.${fields.sender}`) : undefined}
        data={[{ value: '', label: t('channels.choose') }, ...(senders.data ?? [])]}
        disabled={senders.isPending}
        withAsterisk
        {...form.getInputProps(fields.sender)}
      />
      <NativeSelect
        label={t(`channels.${fields.template}`)}
        description={templates.data?.length === 0 ? t('channels.no.template') : t('channels.templateHint')}
        data={[{ value: '', label: t('channels.choose') }, ...(templates.data ?? [])]}
        disabled={templates.isPending}
        withAsterisk
        {...form.getInputProps(fields.template)}
      />
      <Filling template={templates.data?.find(({ value }) => value === form.getValues()[fields.template])} />
      {channel === 'RCS' && (
        <NativeSelect
          label={t('channels.rcsTrafficType')}
          description={t('channels.rcsTrafficTypeHint')}
          data={[
            { value: '', label: t('trafficType.none') },
            ...TRAFFIC_TYPES.map((value) => ({ value, label: t(`trafficType.${value}`) })),
          ]}
          {...form.getInputProps('rcsTrafficType')}
        />
      )}
    </Stack>
  );
}

/** Contact fields for the placeholders of the chosen template. They are set with the template. */
function Filling({ template }: { readonly template: TemplateOption | undefined }) {
  const { t } = useTranslation('campaigns');
  if (template === undefined || template.placeholders.length === 0) return null;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={500}>
        {t('channels.filling')}
      </Text>
      {template.placeholders.map((placeholder, at) => (
        <Text key={placeholder} size="sm">
          <Code>{`{{${placeholder}}}`}</Code> {t('channels.filledBy')} <Field variable={template.variables[at]} />
        </Text>
      ))}
      <Text size="xs" c="dimmed">
        {t('channels.fillingHint')}{' '}
        <TextLink size="xs" underline="always" to="/account/templates">
          {t('channels.fillingOpen')}
        </TextLink>
      </Text>
    </Stack>
  );
}

function Field({ variable }: { readonly variable: string | undefined }) {
  const { t } = useTranslation('campaigns');
  const fieldName = useFieldName();
  if (variable === undefined)
    return (
      <Text span c="red" size="sm">
        {t('channels.filledByNothing')}
      </Text>
    );
  const fallback = variable.includes('|') ? variable.slice(variable.indexOf('|') + 1) : '';
  return (
    <>
      <b>{fieldName(fieldOf(variable))}</b>
      {fallback !== '' && ` ${t('channels.orElse', { fallback })}`}
    </>
  );
}

/** The step for the name, the channels in order, and the sender on each. */
function ChannelsStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(form.getValues().sendingMode);
  return (
    <Stack mt="md">
      <Section title={t('channels.about')}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label={t('channels.name')}
            description={t('channels.nameHint')}
            maxLength={200}
            withAsterisk
            {...form.getInputProps('name')}
          />
          <TextInput
            label={t('channels.description')}
            description={t('channels.descriptionHint')}
            maxLength={1000}
            {...form.getInputProps('description')}
          />
        </SimpleGrid>
      </Section>
      <Section title={t('channels.title')} description={t('channels.hint')}>
        <Modes form={form} />
        <ChainPicture form={form} />
      </Section>
      <Section title={t('channels.senders')}>
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          {chain.includes('WHATSAPP') && <NetworkFields channel="WHATSAPP" form={form} />}
          {chain.includes('RCS') && <NetworkFields channel="RCS" form={form} />}
          {chain.includes('SMS') && (
            <TextInput
              label={t('channels.smsSender')}
              description={t('channels.smsSenderHint')}
              maxLength={20}
              withAsterisk
              {...form.getInputProps('smsSender')}
            />
          )}
        </SimpleGrid>
      </Section>
    </Stack>
  );
}

function Modes({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  return (
    <Radio.Group aria-label={t('channels.title')} {...form.getInputProps('sendingMode')}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }} spacing="sm">
        {MODES.map((mode) => (
          <Mode key={mode} mode={mode} />
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}

/** A sending mode; one that the account may not use is disabled and shows the reason. */
function Mode({ mode }: { readonly mode: SendingMode }) {
  const { t } = useTranslation('campaigns');
  const { refusal } = useSession();
  const why = chainOf(mode)
    .map((scope) => refusal({ scope }))
    .find((reason) => reason !== null);
  const words = why ? t(`ui:why.${why}`) : t(chainOf(mode).length > 1 ? 'channels.inTurn' : 'channels.alone');
  return <Radio value={mode} label={modeName(t, mode)} description={words} disabled={why !== undefined} />;
}

/** State of saving, in words. */
function SaveStatus({ saving: { state } }: { readonly saving: SavingState }) {
  const { t } = useTranslation('campaigns');
  const Sign = state === 'saved' ? CircleCheck : CloudOff;
  return (
    <Group gap={6} wrap="nowrap" c={state === 'saved' ? 'dimmed' : undefined}>
      {(state === 'saved' || state === 'waiting') && <Sign size={16} aria-hidden="true" />}
      <Text size="sm" role="status">
        {t(`saving.${state}`)}
      </Text>
    </Group>
  );
}

type ConflictProps = { readonly saving: SavingState; readonly onReload: () => void };

/** Asks what to do when another user has changed or deleted the draft meanwhile. */
function Conflict({ saving, onReload }: ConflictProps) {
  const { t } = useTranslation('campaigns');
  const { state } = saving;
  if (state !== 'conflict' && state !== 'gone') return null;
  const keepMine = async (): Promise<void> => saving.overwrite(await makeRoom(saving));
  return (
    <Alert color="amber" icon={<TriangleAlert size={20} />} title={t(`saving.${state}Title`)} mb="md">
      <Text size="sm" mb="sm">
        {t(`saving.${state}Text`)}
      </Text>
      <Group gap="xs">
        <Button size="xs" onClick={() => void keepMine()}>
          {t('saving.keepMine')}
        </Button>
        {state === 'conflict' && (
          <Button size="xs" variant="default" onClick={onReload}>
            {t('saving.takeTheirs')}
          </Button>
        )}
      </Group>
    </Alert>
  );
}

/**
 * Returns the version over which this one can be saved. Where the draft is gone, another draft of the same campaign is
 * deleted, because there can be only one.
 */
async function makeRoom(saving: SavingState): Promise<number> {
  const { id, campaignId } = saving.place();
  const current = await findDraft(id).catch(() => null);
  if (current !== null) return current.version;
  const others = campaignId === 0 ? [] : await listDrafts({ campaignId });
  for (const other of others) await deleteDraft(other.id);
  return 0;
}

/**
 * Asks before the user leaves input that neither the server nor this browser can keep. Changing the step does not count
 * as leaving.
 */
function LeaveGuard({ isDirty }: { readonly isDirty: boolean }) {
  const { t } = useTranslation('campaigns');
  const { status, proceed, reset } = useBlocker({
    shouldBlockFn: ({ current, next }) => isDirty && current.pathname !== next.pathname,
    enableBeforeUnload: () => isDirty,
    withResolver: true,
  });
  return (
    <ConfirmDialog
      opened={status === 'blocked'}
      onClose={() => reset?.()}
      title={t('leave.title')}
      action={t('leave.submit')}
      onConfirm={() => proceed?.()}
    >
      {t('leave.text')}
    </ConfirmDialog>
  );
}
