import { useTranslation } from 'react-i18next';

/** `dryRun` as `dry run`: for what the server may tell and we have no text for. */
const spaced = (name: string): string => name.replaceAll(/[-_.]|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();

/** The server's words in those of the reader. */
export function useAuditWords() {
  const { t, i18n } = useTranslation('security');
  const word = (kind: string, of: string): string => {
    const key = `audit.${kind}.${of}`;
    const found = i18n.exists(key, { ns: 'security' }) ? t(key) : '';
    return found === '' ? spaced(of) : found;
  };
  return {
    action: (action: string): string => word('action', action),
    field: (name: string): string => word('field', name),
    subject: (kind: string): string => word('subject', kind),
    /** A word that stands as a value: a role, a plan, a scope, a channel. */
    value: (value: string): string => {
      const key = `audit.value.${value}`;
      return /^[A-Za-z_]+$/.test(value) && i18n.exists(key, { ns: 'security' }) ? t(key) : value;
    },
  };
}
