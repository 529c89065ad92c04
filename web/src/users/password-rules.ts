import { useTranslation } from 'react-i18next';
import { LEAST_LETTERS } from './user.ts';

/** What is wrong with a password, as a sentence; null when nothing is. */
export function usePasswordFault(): (password: string, username: string) => string | null {
  const { t } = useTranslation('users');
  return (password, username) => {
    if (password.length < LEAST_LETTERS) return t('password.short', { count: LEAST_LETTERS });
    return password.toLowerCase() === username.toLowerCase() ? t('password.isName') : null;
  };
}
