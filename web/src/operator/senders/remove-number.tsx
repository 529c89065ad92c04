import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type InboundNumber, NUMBERS, SENDER_KEYS } from './sender.ts';

export function RemoveNumber({ number: { number, connection, account } }: { readonly number: InboundNumber }) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const of = { number: number === '*' ? t('inbound.every') : number, account };
  const remove = useAction({
    run: () => ok(api.DELETE(NUMBERS, { params: { query: { number, connection } } })),
    refresh: SENDER_KEYS,
    done: t('inbound.remove.done', of),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('inbound.remove.label', of)} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('inbound.remove.title', of)}
        action={t('inbound.remove.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('inbound.remove.text')}
      </ConfirmDialog>
    </>
  );
}
