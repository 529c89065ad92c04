import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { OPERATOR } from '../shared/need.ts';
import { POLICIES, type Policy, POLICY_KEYS } from './policy.ts';

export function DeleteIcon({ policy: { id, prefix } }: { readonly policy: Policy }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = { prefix: prefix === '' ? t('prefix.all') : `+${prefix}` };
  const remove = useAction({
    run: () => ok(api.DELETE(`${POLICIES}/{id}`, { params: { path: { id } } })),
    refresh: POLICY_KEYS,
    done: t('routePolicy.delete.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('routePolicy.delete.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('routePolicy.delete.title', of)}
        action={t('routePolicy.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('routePolicy.delete.text')}
      </ConfirmDialog>
    </>
  );
}
