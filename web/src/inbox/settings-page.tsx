import { Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, GuardedIcon } from '../ui/actions.tsx';
import { ConfirmDialog, Dialog, DialogForm } from '../ui/dialog.tsx';
import { ErrorState, PageFrame, Section, useLast } from '../ui/parts.tsx';
import { TableSkeleton } from '../ui/table-skeleton.tsx';
import { type CannedAnswer, cannedQuery, INBOX, type Label, labelsQuery, NEED } from './conversation.ts';
import { LabelBadge, settingsQuery } from './drafts.tsx';
import classes from './inbox.module.css';

type Open = { readonly answer: CannedAnswer | null } | null;

/** The canned answers of the account. */
function CannedSection() {
  const { t } = useTranslation('inbox');
  const [open, setOpen] = useState<Open>(null);
  const { data = [], isPending } = useQuery(cannedQuery);
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${INBOX}/canned-answers/{id}`, { params: { path: { id } } })),
    refresh: [cannedQuery.queryKey],
    done: t('canned.deleted'),
  });
  return (
    <Section
      title={t('canned.title')}
      description={t('canned.text')}
      actions={
        <AddButton need={NEED} onClick={() => setOpen({ answer: null })}>
          {t('canned.add')}
        </AddButton>
      }
    >
      {!isPending && data.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('canned.none')}
        </Text>
      )}
      <ul className={classes.rows}>
        {data.map((answer) => (
          <li key={answer.id} className={classes.settingRow}>
            <Stack gap={2} style={{ minWidth: 0, flex: 1 }}>
              <Text size="sm" fw={600}>
                /{answer.shortcut}
              </Text>
              <Text size="sm" lineClamp={2} dir="auto" className="foreign-text">
                {answer.text}
              </Text>
            </Stack>
            <Group gap={4} wrap="nowrap">
              <GuardedIcon
                need={NEED}
                label={t('canned.change', { shortcut: answer.shortcut })}
                onClick={() => setOpen({ answer })}
              >
                <Pencil size={16} />
              </GuardedIcon>
              <GuardedIcon
                need={NEED}
                label={t('canned.delete', { shortcut: answer.shortcut })}
                loading={remove.busy}
                onClick={() => remove.run(answer.id)}
              >
                <Trash2 size={16} />
              </GuardedIcon>
            </Group>
          </li>
        ))}
      </ul>
      <Dialog
        opened={open !== null}
        onClose={() => setOpen(null)}
        title={t(open?.answer ? 'canned.edit' : 'canned.add')}
      >
        {open && <Fields answer={open.answer} onClose={() => setOpen(null)} />}
      </Dialog>
    </Section>
  );
}

type Values = { readonly shortcut: string; readonly text: string };

function Fields({ answer, onClose }: { readonly answer: CannedAnswer | null; readonly onClose: () => void }) {
  const { t } = useTranslation('inbox');
  const form = useForm<Values>({ initialValues: { shortcut: answer?.shortcut ?? '', text: answer?.text ?? '' } });
  const save = useAction<Values, unknown>({
    run: (body) =>
      answer
        ? ok(api.PATCH(`${INBOX}/canned-answers/{id}`, { params: { path: { id: answer.id } }, body }))
        : ok(api.POST(`${INBOX}/canned-answers`, { body })),
    refresh: [cannedQuery.queryKey],
    done: t('canned.saved'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={t('canned.save')}
      busy={save.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('canned.shortcut')}
        description={t('canned.shortcutHint')}
        leftSection="/"
        maxLength={40}
        required
        data-autofocus
        dir="ltr"
        {...form.getInputProps('shortcut')}
      />
      <Textarea
        label={t('canned.answer')}
        description={t('canned.answerHint').replaceAll('[[', '{{').replaceAll(']]', '}}')}
        autosize
        minRows={3}
        maxLength={4096}
        required
        {...form.getInputProps('text')}
      />
    </DialogForm>
  );
}

const COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const;
const KEYS = [labelsQuery.queryKey, ['inbox']];

type LabelsOpen = { readonly label: Label | null } | null;

/** The labels of the account. */
function LabelsSection() {
  const { t } = useTranslation('inbox');
  const [open, setOpen] = useState<LabelsOpen>(null);
  const [going, setGoing] = useState<Label | null>(null);
  const { data = [], isPending } = useQuery(labelsQuery);
  return (
    <Section
      title={t('label.all')}
      description={t('label.text')}
      actions={
        <AddButton need={NEED} onClick={() => setOpen({ label: null })}>
          {t('label.add')}
        </AddButton>
      }
    >
      {!isPending && data.length === 0 && (
        <Text size="sm" c="dimmed">
          {t('label.none')}
        </Text>
      )}
      <ul className={classes.rows}>
        {data.map((label) => (
          <li key={label.id} className={classes.settingRow}>
            <LabelBadge label={label} />
            <Group gap={4} wrap="nowrap">
              <GuardedIcon need={NEED} label={t('label.change', label)} onClick={() => setOpen({ label })}>
                <Pencil size={16} />
              </GuardedIcon>
              <GuardedIcon need={NEED} label={t('label.delete', label)} onClick={() => setGoing(label)}>
                <Trash2 size={16} />
              </GuardedIcon>
            </Group>
          </li>
        ))}
      </ul>
      <Dialog
        opened={open !== null}
        onClose={() => setOpen(null)}
        title={t(open?.label ? 'label.editOne' : 'label.add')}
      >
        {open && <LabelsFields label={open.label} onClose={() => setOpen(null)} />}
      </Dialog>
      <DeleteLabel label={going} onClose={() => setGoing(null)} />
    </Section>
  );
}

type LabelsValues = { readonly name: string; readonly color: Label['color'] };

function LabelsFields({ label, onClose }: { readonly label: Label | null; readonly onClose: () => void }) {
  const { t } = useTranslation('inbox');
  const form = useForm<LabelsValues>({ initialValues: { name: label?.name ?? '', color: label?.color ?? 'blue' } });
  const save = useAction<LabelsValues, unknown>({
    run: (body) =>
      label
        ? ok(api.PATCH(`${INBOX}/labels/{id}`, { params: { path: { id: label.id } }, body }))
        : ok(api.POST(`${INBOX}/labels`, { body })),
    refresh: KEYS,
    done: t('label.saved'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={t('label.save')}
      busy={save.busy}
      onClose={onClose}
    >
      <TextInput label={t('label.name')} maxLength={40} required data-autofocus {...form.getInputProps('name')} />
      <NativeSelect
        label={t('label.color')}
        data={COLORS.map((value) => ({ value, label: t(`label.colors.${value}`) }))}
        {...form.getInputProps('color')}
      />
    </DialogForm>
  );
}

function DeleteLabel({ label, onClose }: { readonly label: Label | null; readonly onClose: () => void }) {
  const { t } = useTranslation('inbox');
  const name = useLast(label)?.name ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${INBOX}/labels/{id}`, { params: { path: { id } } })),
    refresh: KEYS,
    done: t('label.deleted'),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={label !== null}
      onClose={onClose}
      title={t('label.deleteTitle', { name })}
      action={t('label.deleteSubmit')}
      onConfirm={() => label && remove.run(label.id)}
      busy={remove.busy}
    >
      {t('label.deleteText')}
    </ConfirmDialog>
  );
}

const RulesForm = lazyPart(() => import('./rules-form.tsx').then((file) => ({ default: file.RulesForm })));

/** The page of settings that the agents of an account share: canned answers, labels, assignment and opening hours. */
export function Page() {
  const { t } = useTranslation('inbox');
  const settings = useQuery(settingsQuery);
  return (
    <PageFrame
      title={t('settings.title')}
      description={t('settings.text')}
      trail={[{ label: t('title'), to: '/inbox' }]}
    >
      <Stack gap="lg">
        <CannedSection />
        <LabelsSection />
        <Section title={t('rules.title')}>
          {settings.isError ? (
            <ErrorState error={settings.error} onRetry={() => void settings.refetch()} />
          ) : settings.data ? (
            <Suspense fallback={<TableSkeleton rows={3} />}>
              <RulesForm settings={settings.data} />
            </Suspense>
          ) : (
            <TableSkeleton rows={3} />
          )}
        </Section>
      </Stack>
    </PageFrame>
  );
}
