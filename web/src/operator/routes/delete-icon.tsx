import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type Route, ROUTE_KEYS, ROUTES } from './route.ts';

export function DeleteIcon({ route: { id, prefix, connection } }: { readonly route: Route }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = { prefix: prefix === '' ? t('prefix.all') : `+${prefix}`, connection };
  const remove = useAction({
    run: () => ok(api.DELETE(`${ROUTES}/{id}`, { params: { path: { id } } })),
    refresh: ROUTE_KEYS,
    done: t('route.delete.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('route.delete.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('route.delete.title', of)}
        action={t('route.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('route.delete.text')}
      </ConfirmDialog>
    </>
  );
}
