import { useDisclosure } from '@mantine/hooks';
import { Trash2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { GuardedIcon } from '../../ui/actions/guarded-button.tsx';
import { ConfirmDialog } from '../../ui/dialog/confirm-dialog.tsx';
import { OPERATOR } from '../shared/need.ts';
import { type POOLS, type REGISTERED, type RULES, SENDER_RULE_KEYS } from './sender-rule.ts';

type DeleteProps = {
  readonly path: typeof RULES | typeof REGISTERED | typeof POOLS;
  readonly id: number;
  /** Name of the deleted item in the user's terms. */
  readonly of: string;
};

/** Deletes a rule, a registered sender or a pool, after a confirmation. */
export function DeleteIcon({ path, id, of }: DeleteProps) {
  const { t } = useTranslation('operator');
  const [isAsking, asking] = useDisclosure();
  const remove = useAction({
    run: () => ok(api.DELETE(`${path}/{id}`, { params: { path: { id } } })),
    refresh: SENDER_RULE_KEYS,
    done: t('senderRule.delete.done', { of }),
    onDone: asking.close,
  });
  return (
    <>
      <GuardedIcon need={OPERATOR} label={t('senderRule.delete.label', { of })} onClick={asking.open}>
        <Trash2 size={16} />
      </GuardedIcon>
      <ConfirmDialog
        opened={isAsking}
        onClose={asking.close}
        title={t('senderRule.delete.title', { of })}
        action={t('senderRule.delete.submit')}
        onConfirm={() => remove.run()}
        busy={remove.busy}
      >
        {t('senderRule.delete.text')}
      </ConfirmDialog>
    </>
  );
}
