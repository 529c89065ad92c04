import { useDisclosure } from '@mantine/hooks';
import { CirclePlay, OctagonX } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { useSession } from '../../api/session.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { GuardedButton } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { ACCOUNT_KEYS, type AccountDetails, ACCOUNTS } from './account.ts';

/** Button that suspends or reactivates an account, after a confirmation. */
export function StatusButton({ account: { id, name, status } }: { readonly account: AccountDetails }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const isOwn = useSession().ownAccountId === id && t('account.suspend.own');
  const verb = status === 'active' ? 'suspend' : 'activate';
  const move = useAction({
    run: () =>
      ok(
        api.PUT(`${ACCOUNTS}/{id}`, {
          params: { path: { id } },
          body: { status: status === 'active' ? 'suspended' : 'active' },
        }),
      ),
    refresh: ACCOUNT_KEYS,
    done: t(`account.${verb}.done`, { name }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedButton
        need={OPERATOR}
        reason={isOwn}
        variant="default"
        leftSection={status === 'active' ? <OctagonX size={16} /> : <CirclePlay size={16} />}
        onClick={asking.open}
      >
        {t(`account.${verb}.open`)}
      </GuardedButton>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t(`account.${verb}.title`, { name })}
        action={t(`account.${verb}.submit`)}
        onConfirm={() => move.run()}
        busy={move.busy}
        kind={status === 'active' ? 'danger' : 'normal'}
      >
        {t(`account.${verb}.text`)}
      </ConfirmDialog>
    </>
  );
}
