import { useTranslation } from 'react-i18next';

/**
 * Returns a function that finds the text for a key built from a server value, or returns the given value if there is
 * none.
 */
export function useServerText() {
  const { t, i18n } = useTranslation('operator');
  return (key: string, otherwise: string): string => (i18n.exists(key, { ns: 'operator' }) ? t(key) : otherwise);
}
