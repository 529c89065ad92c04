import { useTranslation } from 'react-i18next';

/** Numbers of waiting messages and of their accounts. */
export function Waiting({ count, accounts }: { readonly count: number; readonly accounts: number }) {
  const { t } = useTranslation('operator');
  return <>{t('attention.waiting', { count, accounts: t('attention.accounts', { count: accounts }) })}</>;
}
