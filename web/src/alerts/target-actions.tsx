import { Group } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Pencil, Send, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { notify } from '../api/notify.ts';
import { GuardedButton, GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { KEYS, OPERATOR, type Target, TARGETS } from './alert.ts';

type ActionsProps = { readonly target: Target; readonly name: string; readonly onEdit: () => void };

/** Actions for a recipient. */
export function TargetActions({ target, name, onEdit }: ActionsProps) {
  const { t } = useTranslation('alerts');
  const test = useTest(target.id, name);
  return (
    <Group gap={4} wrap="nowrap">
      <GuardedButton
        need={OPERATOR}
        size="xs"
        variant="default"
        leftSection={<Send size={14} />}
        loading={test.busy}
        onClick={() => test.run()}
      >
        {t('target.test.submit')}
      </GuardedButton>
      <GuardedIcon need={OPERATOR} label={t('target.edit.label', { name })} onClick={onEdit}>
        <Pencil size={16} />
      </GuardedIcon>
      <DeleteIcon id={target.id} name={name} />
    </Group>
  );
}

function useTest(id: number, name: string) {
  const { t } = useTranslation('alerts');
  return useAction({
    run: () => ok(api.POST(`${TARGETS}/{id}/test`, { params: { path: { id } } })),
    onDone: ({ ok: isOk, detail }) =>
      void notify({
        message: isOk ? t('target.test.done', { name }) : t('target.test.failed', { name, detail }),
        tone: isOk ? 'good' : 'bad',
        closeLabel: t('ui:close'),
      }),
  });
}

function DeleteIcon({ id, name }: { readonly id: number; readonly name: string }) {
  const { t } = useTranslation('alerts');
  const [isAsking, asking] = useDisclosure();
  const remove = useAction({
    run: () => ok(api.DELETE(`${TARGETS}/{id}`, { params: { path: { id } } })),
    refresh: KEYS,
    done: t('target.delete.done', { name }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('target.delete.label', { name })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('target.delete.title', { name })}
        action={t('target.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('target.delete.text')}
      </ConfirmDialog>
    </>
  );
}
