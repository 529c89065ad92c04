import { RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { type ApiKey, nameOf, NEED } from './api-key.ts';

type KeyActionsProps = { readonly apiKey: ApiKey; readonly onOpen: (what: 'rotate' | 'revoke') => void };

/** The actions for one key. The page owns the dialogs, because rows may disappear while one is open. */
export function KeyActions({ apiKey, onOpen }: KeyActionsProps) {
  const { t } = useTranslation('api-keys');
  const name = nameOf(apiKey);
  const expired = apiKey.status === 'expired' && t('rotate.expired');
  return (
    <>
      <GuardedIcon need={NEED} reason={expired} label={t('rotate.label', { name })} onClick={() => onOpen('rotate')}>
        <RefreshCw size={16} />
      </GuardedIcon>
      <GuardedIcon need={NEED} label={t('revoke.label', { name })} onClick={() => onOpen('revoke')}>
        <Trash2 size={16} />
      </GuardedIcon>
    </>
  );
}
