import { KeyRound, Trash2, UserCog } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { MayIcon } from '../ui/actions/may-button.tsx';
import { NEED, type User } from './user.ts';
import { useIsSelf, useUntouchable } from './user-rules.ts';

export type What = 'role' | 'password' | 'remove';
type UserActionsProps = { readonly user: User; readonly onOpen: (what: What) => void };

/** What can be done with one person; what cannot, says why. */
export function UserActions({ user, onOpen }: UserActionsProps) {
  const { t } = useTranslation('users');
  const { username } = user;
  const untouchable = useUntouchable()(user);
  const isSelf = useIsSelf()(user);
  return (
    <>
      <MayIcon need={NEED} because={untouchable} label={t('role.change', { username })} onClick={() => onOpen('role')}>
        <UserCog size={16} />
      </MayIcon>
      <MayIcon
        need={NEED}
        because={untouchable || (isSelf && t('rule.ownPassword'))}
        label={t('password.label', { username })}
        onClick={() => onOpen('password')}
      >
        <KeyRound size={16} />
      </MayIcon>
      <MayIcon
        need={NEED}
        because={untouchable || (isSelf && t('rule.self'))}
        label={t('remove.label', { username })}
        onClick={() => onOpen('remove')}
      >
        <Trash2 size={16} />
      </MayIcon>
    </>
  );
}
