import { Eye } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { useSwitchAccount } from '../../app/shell/switch-account.ts';
import { GuardedButton, GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';

type SwitchProps = { readonly account: { readonly id: number; readonly name: string } };

/** The reason why the switch is disabled: the operator is already in this account; false otherwise. */
function useAlreadyHere(id: number): string | false {
  const { t } = useTranslation('operator');
  return useSession().account.id === id && t('account.look.here');
}

/** Switches to the account with its owner's rights; the shell shows a banner until the operator switches back. */
export function SwitchAccountIcon({ account: { id, name } }: SwitchProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <GuardedIcon
      need={OPERATOR}
      reason={useAlreadyHere(id)}
      label={t('account.look.label', { name })}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      <Eye size={16} />
    </GuardedIcon>
  );
}

export function SwitchAccountButton({ account: { id } }: SwitchProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <GuardedButton
      need={OPERATOR}
      reason={useAlreadyHere(id)}
      variant="default"
      leftSection={<Eye size={16} />}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      {t('account.look.open')}
    </GuardedButton>
  );
}
