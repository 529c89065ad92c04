import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { usePriceName } from '../shared/price-name.ts';
import { type Price, PRICE_KEYS, PRICES } from './price.ts';

export function DeleteIcon({ price }: { readonly price: Price }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = usePriceName()(price);
  const remove = useAction({
    run: () => ok(api.DELETE(`${PRICES}/{id}`, { params: { path: { id: price.id } } })),
    refresh: PRICE_KEYS,
    done: t('price.delete.done', { of }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('price.delete.label', { of })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('price.delete.title', { of })}
        action={t('price.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('price.delete.text')}
      </ConfirmDialog>
    </>
  );
}
