import { useTranslation } from 'react-i18next';
import { MIN_PASSWORD_LENGTH } from './user.ts';

/** Returns a function that describes the fault of a password; null if there is none. */
export function usePasswordFault(): (password: string, username: string) => string | null {
  const { t } = useTranslation('users');
  return (password, username) => {
    if (password.length < MIN_PASSWORD_LENGTH) return t('password.short', { count: MIN_PASSWORD_LENGTH });
    return password.toLowerCase() === username.toLowerCase() ? t('password.isName') : null;
  };
}
