import { useTranslation } from 'react-i18next';

/** The text of a key that the server's words make up; where we have none, the words themselves. */
export function useWord() {
  const { t, i18n } = useTranslation('operator');
  return (key: string, otherwise: string): string => (i18n.exists(key, { ns: 'operator' }) ? t(key) : otherwise);
}
