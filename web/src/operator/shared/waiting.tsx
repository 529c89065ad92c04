import { useTranslation } from 'react-i18next';

/** Says how many messages of how many accounts wait. */
export function Waiting({ count, accounts }: { readonly count: number; readonly accounts: number }) {
  const { t } = useTranslation('operator');
  return <>{t('attention.waiting', { count, accounts: t('attention.accounts', { count: accounts }) })}</>;
}
