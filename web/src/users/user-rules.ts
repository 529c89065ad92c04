import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { User } from './user.ts';

/** Why this person may not be changed by whoever is signed in, as a sentence; false when they may. */
export function useUntouchable(): (user: User) => string | false {
  const { t } = useTranslation('users');
  const { role, isOperator } = useSession();
  return (user) => {
    if (user.role === 'owner' && role !== 'owner') return t('rule.owner');
    if (user.isOperator && !isOperator) return t('rule.operator');
    return false;
  };
}

/** Whether the person is the one who is signed in. */
export function useIsSelf(): (user: Pick<User, 'id'>) => boolean {
  const session = useSession();
  return ({ id }) => id === session.user.id;
}
