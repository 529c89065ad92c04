import { RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { MayIcon } from '../ui/actions/may-button.tsx';
import { type ApiKey, nameOf, NEED } from './api-key.ts';

type KeyActionsProps = { readonly apiKey: ApiKey; readonly onOpen: (what: 'rotate' | 'revoke') => void };

/** What can be done with one key. The dialogs are the page's: rows come and go while one is open. */
export function KeyActions({ apiKey, onOpen }: KeyActionsProps) {
  const { t } = useTranslation('api-keys');
  const name = nameOf(apiKey);
  const expired = apiKey.status === 'expired' && t('rotate.expired');
  return (
    <>
      <MayIcon need={NEED} because={expired} label={t('rotate.label', { name })} onClick={() => onOpen('rotate')}>
        <RefreshCw size={16} />
      </MayIcon>
      <MayIcon need={NEED} label={t('revoke.label', { name })} onClick={() => onOpen('revoke')}>
        <Trash2 size={16} />
      </MayIcon>
    </>
  );
}
