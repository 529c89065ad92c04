import { Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { digitsOf, PrefixInput } from '../shared/prefix-input.tsx';
import { POLICIES, RULES, SENDER_RULE_KEYS, type SenderRule } from './sender-rule.ts';

type DialogProps = { readonly onClose: () => void };

/** Dialog that sets the rule for the numbers with a prefix. */
export function RuleDialog({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('senderRule.add.title')} size="md">
      <Fields onClose={onClose} />
    </Dialog>
  );
}

type Values = {
  readonly prefix: string;
  readonly alphanumeric: SenderRule['alphanumeric'];
  readonly replacement: string;
  readonly registeredOnly: boolean;
};

function Fields({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { prefix: '', alphanumeric: 'refused', replacement: '', registeredOnly: false },
  });
  const saving = useAction({
    run: ({ prefix, replacement, ...rest }: Values) =>
      ok(
        api.PUT(RULES, {
          body: { ...rest, prefix: digitsOf(prefix), replacement: replacement === '' ? null : replacement },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('senderRule.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => saving.run(values))}
      action={t('senderRule.add.submit')}
      busy={saving.busy}
      onClose={onClose}
    >
      <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
      <NativeSelect
        label={t('senderRule.alphanumeric')}
        description={t('senderRule.alphanumericHint')}
        data={POLICIES.map((value) => ({ value, label: t(`senderRule.policy.${value}`) }))}
        {...form.getInputProps('alphanumeric')}
      />
      <TextInput
        label={t('senderRule.replacement')}
        description={t('senderRule.replacementHint')}
        maxLength={25}
        {...form.getInputProps('replacement')}
      />
      <Checkbox
        label={t('senderRule.onlyRegistered')}
        description={t('senderRule.onlyRegisteredHint')}
        {...form.getInputProps('registeredOnly', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}
