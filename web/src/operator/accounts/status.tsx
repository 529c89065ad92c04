import { useTranslation } from 'react-i18next';
import { StatusBadge } from '../../ui/values/status-badge.tsx';
import type { Status } from './account.ts';

export function AccountStatus({ status }: { readonly status: Status }) {
  const { t } = useTranslation('operator');
  return <StatusBadge tone={status === 'active' ? 'good' : 'bad'}>{t(`account.status.${status}`)}</StatusBadge>;
}
