import { Group, Stack, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { Section } from '../../ui/section.tsx';
import { NEED } from '../conversation.ts';
import { type CannedAnswer, cannedQuery, INBOX } from '../desk/tools.ts';
import classes from '../inbox.module.css';

type Open = { readonly answer: CannedAnswer | null } | null;

/** The canned answers of the account. */
export function CannedSection() {
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
