import { Eye } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { useSwitchAccount } from '../../app/shell/switch-account.ts';
import { MayButton, MayIcon } from '../../ui/actions/may-button.tsx';
import { OPERATOR } from '../shared/need.ts';

type LookProps = { readonly account: { readonly id: number; readonly name: string } };

/** Why not now: one looks at it already. */
function useHere(id: number): string | false {
  const { t } = useTranslation('operator');
  return useSession().account.id === id && t('account.look.here');
}

/** Goes on as somebody of that account, with all that its owner may; the shell says so until one is back. */
export function LookIcon({ account: { id, name } }: LookProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <MayIcon
      need={OPERATOR}
      because={useHere(id)}
      label={t('account.look.label', { name })}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      <Eye size={16} />
    </MayIcon>
  );
}

export function LookButton({ account: { id } }: LookProps) {
  const { t } = useTranslation('operator');
  const switching = useSwitchAccount();
  return (
    <MayButton
      need={OPERATOR}
      because={useHere(id)}
      variant="default"
      leftSection={<Eye size={16} />}
      loading={switching.busy}
      onClick={() => switching.run(id)}
    >
      {t('account.look.open')}
    </MayButton>
  );
}
