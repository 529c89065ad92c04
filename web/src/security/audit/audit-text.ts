import { useTranslation } from 'react-i18next';

/** Separates the words of a name (`dry run` for `dryRun`), for server values without a text. */
const spaced = (name: string): string => name.replaceAll(/[-_.]|(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();

/** Returns functions that give the texts for server values. */
export function useAuditText() {
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
    /** The text for a value: a role, a plan, a scope or a channel. */
    value: (value: string): string => {
      const key = `audit.value.${value}`;
      return /^[A-Za-z_ -]+$/.test(value) && i18n.exists(key, { ns: 'security' }) ? t(key) : value;
    },
  };
}
