import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { AccountChoice } from '../accounts/account-choice.tsx';
import { ConnectionChoice } from '../connections/connection-choice.tsx';
import { SENDER_KEYS, SENDERS } from './sender.ts';

type AssignProps = { readonly opened: boolean; readonly onClose: () => void; readonly connection: string };

/** Dialog that assigns a WhatsApp number or an RCS agent to an account, or to all. */
export function AssignDialog({ opened, onClose, connection }: AssignProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened={opened} onClose={onClose} title={t('sender.assign.title')}>
      {opened && <Assign onClose={onClose} connection={connection} />}
    </Dialog>
  );
}

const EVERY = 'every';
type Values = {
  readonly identity: string;
  readonly connection: string;
  readonly name: string;
  readonly accountId: string;
};

function Assign({ onClose, connection }: Omit<AssignProps, 'opened'>) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { identity: '', connection, name: '', accountId: '' },
    validate: {
      identity: (identity) => (identity.trim() === '' ? t('wizard.missing') : null),
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
      accountId: (id) => (id === '' ? t('sender.assign.accountMissing') : null),
    },
  });
  const assigning = useAction({
    run: ({ accountId, identity, ...rest }: Values) =>
      ok(
        api.POST(SENDERS, {
          body: { ...rest, identity: identity.trim(), accountId: accountId === EVERY ? null : Number(accountId) },
        }),
      ),
    refresh: SENDER_KEYS,
    done: t('sender.assign.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => assigning.run(values))}
      action={t('sender.assign.submit')}
      busy={assigning.busy}
      onClose={onClose}
    >
      <ConnectionChoice routedBy="sender" {...form.getInputProps('connection')} />
      <TextInput
        label={t('sender.identity')}
        description={t('sender.identityHint')}
        maxLength={128}
        dir="ltr"
        autoComplete="off"
        {...form.getInputProps('identity')}
      />
      <TextInput
        label={t('sender.shownName')}
        description={t('sender.shownNameHint')}
        maxLength={200}
        {...form.getInputProps('name')}
      />
      <AccountChoice
        label={t('account.word')}
        also={{ value: EVERY, label: t('sender.everyAccount') }}
        {...form.getInputProps('accountId')}
      />
    </DialogForm>
  );
}
