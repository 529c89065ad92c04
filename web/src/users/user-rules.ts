import { useTranslation } from 'react-i18next';
import { useSession } from '../api/session.ts';
import type { User } from './user.ts';

/** Returns a function that gives the reason why the signed-in user may not change a user; false if they may. */
export function useLockReason(): (user: User) => string | false {
  const { t } = useTranslation('users');
  const { isOperator } = useSession();
  return (user) => user.isOperator && !isOperator && t('rule.operator');
}

/** Returns a function that is true for the signed-in user. */
export function useIsSelf(): (user: Pick<User, 'id'>) => boolean {
  const session = useSession();
  return ({ id }) => id === session.user.id;
}
