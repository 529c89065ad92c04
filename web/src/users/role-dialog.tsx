import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogButtons } from '../ui/dialog/dialog-form.tsx';
import { useLast } from '../ui/use-last.ts';
import { RoleChoice } from './role-choice.tsx';
import { ROLES, type User, USERS } from './user.ts';

type RoleDialogProps = { readonly user: User | null; readonly onClose: () => void };

/** Dialog that changes a user's role; null closes it. */
export function RoleDialog({ user, onClose }: RoleDialogProps) {
  const { t } = useTranslation('users');
  const shown = useLast(user);
  return (
    <Dialog opened={user !== null} onClose={onClose} title={t('role.title', { username: shown?.username ?? '' })}>
      {user && <Change user={user} onClose={onClose} />}
    </Dialog>
  );
}

function Change({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation('users');
  const [role, setRole] = useState(user.role);
  const change = useAction({
    run: () => ok(api.PUT(`${USERS}/{id}`, { params: { path: { id: user.id } }, body: { role } })),
    // The user's own role decides the features of the console.
    refresh: [['users'], ['session'], ['audit']],
    done: t('role.done', { username: user.username, role: t(`role.${role}`) }),
    onDone: onClose,
  });
  return (
    <Stack>
      <RoleChoice value={role} onChange={(next) => setRole(ROLES.find((each) => each === next) ?? role)} />
      <DialogButtons
        onClose={onClose}
        action={t('role.submit')}
        disabled={role === user.role}
        busy={change.busy}
        onConfirm={() => change.run()}
      />
    </Stack>
  );
}
