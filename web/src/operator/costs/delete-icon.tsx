import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type Cost, COST_KEYS, COSTS } from './cost.ts';

export function DeleteIcon({ cost: { id, connection, prefix, network } }: { readonly cost: Cost }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const numbers = prefix === '' ? t('prefix.all') : `+${prefix}`;
  const of = { prefix: network === null ? numbers : `${numbers} (${network})`, connection };
  const remove = useAction({
    run: () => ok(api.DELETE(`${COSTS}/{id}`, { params: { path: { id } } })),
    refresh: COST_KEYS,
    done: t('cost.delete.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('cost.delete.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('cost.delete.title', of)}
        action={t('cost.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('cost.delete.text')}
      </ConfirmDialog>
    </>
  );
}
