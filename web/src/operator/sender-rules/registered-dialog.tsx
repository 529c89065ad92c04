import { TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { AccountChoice } from '../accounts/account-choice.tsx';
import { digitsOf, PrefixInput } from '../shared/prefix-input.tsx';
import { REGISTERED, SENDER_RULE_KEYS } from './sender-rule.ts';

type DialogProps = { readonly onClose: () => void };

const EVERY = 'every';

/** Dialog that notes that a sender is registered for the numbers with a prefix. */
export function RegisteredDialog({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('senderRule.addRegistered.title')} size="md">
      <Fields onClose={onClose} />
    </Dialog>
  );
}

type Values = { readonly prefix: string; readonly sender: string; readonly accountId: string };

function Fields({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { prefix: '', sender: '', accountId: EVERY },
    validate: { sender: (sender) => (sender === '' ? t('wizard.missing') : null) },
  });
  const adding = useAction({
    run: ({ prefix, sender, accountId }: Values) =>
      ok(
        api.POST(REGISTERED, {
          body: { prefix: digitsOf(prefix), sender, accountId: accountId === EVERY ? null : Number(accountId) },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('senderRule.addRegistered.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('senderRule.addRegistered.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <TextInput label={t('senderRule.sender')} data-autofocus maxLength={17} {...form.getInputProps('sender')} />
      <PrefixInput {...form.getInputProps('prefix')} />
      <AccountChoice
        label={t('account.word')}
        also={{ value: EVERY, label: t('sender.everyAccount') }}
        {...form.getInputProps('accountId')}
      />
    </DialogForm>
  );
}
