import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../../api/action.ts';
import { api, ok } from '../../api/client.ts';
import { Dialog } from '../../ui/dialog/dialog.tsx';
import { DialogForm } from '../../ui/dialog/dialog-form.tsx';
import { AccountChoice } from '../accounts/account-choice.tsx';
import { POOLS, SENDER_RULE_KEYS } from './sender-rule.ts';

type DialogProps = { readonly onClose: () => void };

const EVERY = 'every';

/** Dialog that makes a pool of numbers. */
export function PoolDialog({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('pool.add.title')} size="md">
      <Fields onClose={onClose} />
    </Dialog>
  );
}

type Values = { readonly name: string; readonly numbers: string; readonly accountId: string };

/** One number a line; blanks within a number do not matter. */
const numbersIn = (text: string): string[] =>
  text
    .split(/[\n,;]/)
    .map((line) => line.replaceAll(/\s/g, ''))
    .filter((line) => line !== '');

function Fields({ onClose }: DialogProps) {
  const { t } = useTranslation('operator');
  const form = useForm<Values>({
    initialValues: { name: '', numbers: '', accountId: EVERY },
    validate: {
      name: (name) => (name === '' ? t('wizard.missing') : null),
      numbers: (numbers) => (numbersIn(numbers).length === 0 ? t('wizard.missing') : null),
    },
  });
  const adding = useAction({
    run: ({ name, numbers, accountId }: Values) =>
      ok(
        api.POST(POOLS, {
          body: { name, numbers: numbersIn(numbers), accountId: accountId === EVERY ? null : Number(accountId) },
        }),
      ),
    refresh: SENDER_RULE_KEYS,
    done: t('pool.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('pool.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <TextInput
        label={t('pool.name')}
        description={t('pool.nameHint')}
        data-autofocus
        maxLength={20}
        {...form.getInputProps('name')}
      />
      <Textarea
        label={t('pool.numbers')}
        description={t('pool.numbersHint')}
        dir="ltr"
        autosize
        minRows={3}
        {...form.getInputProps('numbers')}
      />
      <AccountChoice
        label={t('account.word')}
        also={{ value: EVERY, label: t('sender.everyAccount') }}
        {...form.getInputProps('accountId')}
      />
    </DialogForm>
  );
}
