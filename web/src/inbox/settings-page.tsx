import { Group, NativeSelect, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Trash2 } from 'lucide-react';
import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { lazyPart } from '../api/load.ts';
import { api, ok } from '../api/send.ts';
import { AddButton, DeleteIcon, EditIcon, GuardedIcon } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { type CannedAnswer, cannedQuery, INBOX, type Label, labelsQuery, NEED } from './conversation.ts';
import { LabelBadge, settingsQuery } from './drafts.tsx';
import classes from './inbox.module.css';

/** The canned answers of the account. */
function CannedSection() {
  const { t } = useTranslation('inbox');
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
        <AddButton need={NEED} onClick={() => openDialog(<CannedDialog />)}>
          {t('canned.add')}
        </AddButton>
      }
    >
      {!isPending && data.length === 0 && <Muted>{t('canned.none')}</Muted>}
      <ul className={classes.rows}>
        {data.map((answer) => (
          <li key={answer.id} className={classes.settingRow}>
            <Stack gap={2} style={{ minWidth: 0, flex: 1 }}>
              <Text size="sm" fw={500}>
                /{answer.shortcut}
              </Text>
              <Text size="sm" lineClamp={2} dir="auto" className="foreign-text">
                {answer.text}
              </Text>
            </Stack>
            <Group gap={4} wrap="nowrap">
              <EditIcon
                need={NEED}
                label={t('canned.change', { shortcut: answer.shortcut })}
                dialog={<CannedDialog answer={answer} />}
              />
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
    </Section>
  );
}

/** Dialog that adds a canned answer, or changes the given one. */
function CannedDialog({ answer }: { readonly answer?: CannedAnswer }) {
  const { t } = useTranslation('inbox');
  return (
    <FormDialog
      title={t(answer ? 'canned.edit' : 'canned.add')}
      values={{ shortcut: answer?.shortcut ?? '', text: answer?.text ?? '' }}
      run={async (body) =>
        answer
          ? ok(api.PATCH(`${INBOX}/canned-answers/{id}`, { params: { path: { id: answer.id } }, body }))
          : ok(api.POST(`${INBOX}/canned-answers`, { body }))
      }
      refresh={[cannedQuery.queryKey]}
      done={t('canned.saved')}
      action={t('canned.save')}
    >
      {(form) => (
        <>
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
        </>
      )}
    </FormDialog>
  );
}

const COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const;
const KEYS = [labelsQuery.queryKey, ['inbox']];

/** The labels of the account. */
function LabelsSection() {
  const { t } = useTranslation('inbox');
  const { data = [], isPending } = useQuery(labelsQuery);
  return (
    <Section
      title={t('label.all')}
      description={t('label.text')}
      actions={
        <AddButton need={NEED} onClick={() => openDialog(<LabelDialog />)}>
          {t('label.add')}
        </AddButton>
      }
    >
      {!isPending && data.length === 0 && <Muted>{t('label.none')}</Muted>}
      <ul className={classes.rows}>
        {data.map((label) => (
          <li key={label.id} className={classes.settingRow}>
            <LabelBadge label={label} />
            <Group gap={4} wrap="nowrap">
              <EditIcon need={NEED} label={t('label.change', label)} dialog={<LabelDialog label={label} />} />
              <DeleteIcon
                need={NEED}
                label={t('label.delete', label)}
                question={{
                  title: t('label.deleteTitle', label),
                  text: t('label.deleteText'),
                  action: t('label.deleteSubmit'),
                  run: () => ok(api.DELETE(`${INBOX}/labels/{id}`, { params: { path: { id: label.id } } })),
                  refresh: KEYS,
                  done: t('label.deleted'),
                }}
              />
            </Group>
          </li>
        ))}
      </ul>
    </Section>
  );
}

type LabelValues = { readonly name: string; readonly color: Label['color'] };

/** Dialog that adds a label, or changes the given one. */
function LabelDialog({ label }: { readonly label?: Label }) {
  const { t } = useTranslation('inbox');
  return (
    <FormDialog<LabelValues, unknown>
      title={t(label ? 'label.editOne' : 'label.add')}
      values={{ name: label?.name ?? '', color: label?.color ?? 'blue' }}
      run={(body) =>
        label
          ? ok(api.PATCH(`${INBOX}/labels/{id}`, { params: { path: { id: label.id } }, body }))
          : ok(api.POST(`${INBOX}/labels`, { body }))
      }
      refresh={KEYS}
      done={t('label.saved')}
      action={t('label.save')}
    >
      {(form) => (
        <>
          <TextInput label={t('label.name')} maxLength={40} required data-autofocus {...form.getInputProps('name')} />
          <NativeSelect
            label={t('label.color')}
            data={COLORS.map((value) => ({ value, label: t(`label.colors.${value}`) }))}
            {...form.getInputProps('color')}
          />
        </>
      )}
    </FormDialog>
  );
}

const RulesForm = lazyPart(() => import('./rules-form.tsx').then((file) => ({ default: file.RulesForm })));

/** The page of settings that the agents of an account share: canned answers, labels, assignment and opening hours. */
export function Page() {
  const { t } = useTranslation('inbox');
  const settings = useQuery(settingsQuery);
  return (
    <PageFrame title={t('settings.title')} description={t('settings.text')}>
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
