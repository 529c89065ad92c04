import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { ConfirmDialog } from '../ui/dialog/confirm-dialog.tsx';
import { useLast } from '../ui/use-last.ts';
import { type User, USERS } from './user.ts';

type RemoveFactorsProps = { readonly user: User | null; readonly onClose: () => void };

/** Confirms the removal of all second factors of a user who has lost them; null closes the dialog. */
export function RemoveFactorsDialog({ user, onClose }: RemoveFactorsProps) {
  const { t } = useTranslation('users');
  const username = useLast(user)?.username ?? '';
  const remove = useAction({
    run: (id: number) => ok(api.DELETE(`${USERS}/{id}/second-factors`, { params: { path: { id } } })),
    refresh: [['sessions'], ['audit']],
    done: t('factors.done', { username }),
    onDone: onClose,
  });
  return (
    <ConfirmDialog
      opened={user !== null}
      onClose={onClose}
      title={t('factors.title', { username })}
      action={t('factors.submit')}
      onConfirm={() => user && remove.run(user.id)}
      busy={remove.busy}
    >
      <Text size="sm">{t('factors.text')}</Text>
    </ConfirmDialog>
  );
}
