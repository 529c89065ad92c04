import { Pencil, RefreshCw, Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { GuardedIcon } from '../ui/actions/guarded-button.tsx';
import { type Credential, nameOf, NEED } from './credential.ts';

/** Actions for one credential. */
export type CredentialAction = 'change' | 'rotate' | 'delete';

type CredentialActionsProps = {
  readonly credential: Credential;
  readonly onOpen: (what: CredentialAction) => void;
};

const ICONS = { change: Pencil, rotate: RefreshCw, delete: Trash2 } as const;

/** The actions for one credential. The page owns the dialogs, because rows may disappear while one is open. */
export function CredentialActions({ credential, onOpen }: CredentialActionsProps) {
  const { t } = useTranslation('smpp');
  const name = nameOf(credential);
  return (['change', 'rotate', 'delete'] as const).map((what) => {
    const Icon = ICONS[what];
    return (
      <GuardedIcon key={what} need={NEED} label={t(`${what}.label`, { name })} onClick={() => onOpen(what)}>
        <Icon size={16} />
      </GuardedIcon>
    );
  });
}
