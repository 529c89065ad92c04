import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { AccountChoice } from '../accounts/account-choice.tsx';
import { ConnectionChoice } from '../connections/connection-choice.tsx';
import { NUMBERS, SENDER_KEYS } from './sender.ts';

type DialogProps = { readonly opened: boolean; readonly onClose: () => void };

/** Dialog that assigns an inbound number to an account. */
export function NumberDialog({ opened, onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('inbound.add.title')}>
      {opened && <Assign onClose={onClose} />}
    </Dialog>
  );
}

type Values = { readonly number: string; readonly connection: string; readonly accountId: string };

function Assign({ onClose }: Pick<DialogProps, 'onClose'>) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { number: '', connection: '', accountId: '' },
    validate: {
      number: (number) => (number.trim() === '' ? t('wizard.missing') : null),
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
      accountId: (id) => (id === '' ? t('sender.assign.accountMissing') : null),
    },
  });
  const assigning = useAction({
    run: ({ accountId, ...rest }: Values) => ok(api.POST(NUMBERS, { body: { ...rest, accountId: Number(accountId) } })),
    refresh: SENDER_KEYS,
    done: t('inbound.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => assigning.run(values))}
      action={t('inbound.add.submit')}
      busy={assigning.busy}
      onClose={onClose}
    >
      <ConnectionChoice {...form.getInputProps('connection')} />
      <TextInput
        label={t('inbound.number')}
        description={t('inbound.numberHint')}
        dir="ltr"
        maxLength={21}
        autoComplete="off"
        {...form.getInputProps('number')}
      />
      <AccountChoice label={t('account.word')} {...form.getInputProps('accountId')} />
    </DialogForm>
  );
}
