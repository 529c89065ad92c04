import { KeyRound, ShieldOff, Trash2, UserCog } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { NEED, type User } from './user.ts';
import { useIsSelf, useLockReason } from './user-rules.ts';

export type What = 'role' | 'password' | 'factors' | 'remove';
type UserActionsProps = { readonly user: User; readonly onOpen: (what: What) => void };

/** The actions for one user; unavailable ones show the reason. */
export function UserActions({ user, onOpen }: UserActionsProps) {
  const { t } = useTranslation('users');
  const { username } = user;
  const untouchable = useLockReason()(user);
  const isSelf = useIsSelf()(user);
  return (
    <>
      <GuardedIcon
        need={NEED}
        reason={untouchable}
        label={t('role.change', { username })}
        onClick={() => onOpen('role')}
      >
        <UserCog size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.ownPassword'))}
        label={t('password.label', { username })}
        onClick={() => onOpen('password')}
      >
        <KeyRound size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('factors.own'))}
        label={t('factors.label', { username })}
        onClick={() => onOpen('factors')}
      >
        <ShieldOff size={16} />
      </GuardedIcon>
      <GuardedIcon
        need={NEED}
        reason={untouchable || (isSelf && t('rule.self'))}
        label={t('remove.label', { username })}
        onClick={() => onOpen('remove')}
      >
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}
