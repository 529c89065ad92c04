import { Group, NativeSelect, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { AddButton } from '../../ui/actions/add-button.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { Section } from '../../ui/section.tsx';
import { useLast } from '../../ui/use-last.ts';
import { NEED } from '../conversation.ts';
import { LabelBadge } from '../desk/label-badge.tsx';
import { INBOX, type Label, labelsQuery } from '../desk/tools.ts';
import classes from '../inbox.module.css';

const COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const;
const KEYS = [labelsQuery.queryKey, ['inbox']];

type Open = { readonly label: Label | null } | null;

/** The labels of the account. */
export function LabelsSection() {
  const { t } = useTranslation('inbox');
  const [open, setOpen] = useState<Open>(null);
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
        {open && <Fields label={open.label} onClose={() => setOpen(null)} />}
      </Dialog>
      <DeleteLabel label={going} onClose={() => setGoing(null)} />
    </Section>
  );
}

type Values = { readonly name: string; readonly color: Label['color'] };

function Fields({ label, onClose }: { readonly label: Label | null; readonly onClose: () => void }) {
  const { t } = useTranslation('inbox');
  const form = useForm<Values>({ initialValues: { name: label?.name ?? '', color: label?.color ?? 'blue' } });
  const save = useAction<Values, unknown>({
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
