import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { OPERATOR } from '../shared/need.ts';
import { LOOKUP_KEYS, LOOKUPS } from './lookup.ts';

export function DeleteIcon({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const remove = useAction({
    run: () => ok(api.DELETE(`${LOOKUPS}/{name}`, { params: { path: { name } } })),
    refresh: LOOKUP_KEYS,
    done: t('lookup.delete.done', { name }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('lookup.delete.label', { name })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('lookup.delete.title', { name })}
        action={t('lookup.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('lookup.delete.text')}
      </ConfirmDialog>
    </>
  );
}
