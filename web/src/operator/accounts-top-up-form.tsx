import { NumberInput, Text, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { DialogForm } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ACCOUNT_KEYS, ACCOUNTS, type AccountDetails } from './account.tsx';

type TopUpProps = { readonly account: AccountDetails; readonly onClose: () => void };

type Amount = { readonly amount: number | string; readonly reference: string };

/** The form for a top-up: amount and reference, with the resulting credit. */
export function TopUpForm({ account: { id, availableCredit, currency }, onClose }: TopUpProps) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const form = useForm<Amount>({
    initialValues: { amount: '', reference: '' },
    validate: { amount: (amount) => (Number(amount) > 0 ? null : t('account.topUp.amountMissing')) },
  });
  const booking = useAction({
    run: ({ amount, reference }: Amount) =>
      ok(
        api.POST(`${ACCOUNTS}/{id}/credit`, {
          params: { path: { id } },
          body: { amount: Number(amount), ...(reference && { reference }) },
        }),
      ),
    refresh: [...ACCOUNT_KEYS, ['credit']],
    done: (credit) => t('account.topUp.done', { amount: format.money(credit.availableCredit, credit.currency) }),
    form,
    onDone: onClose,
  });
  const after = availableCredit + Number(form.getValues().amount || 0);
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => booking.run(values))}
      action={t('account.topUp.submit')}
      busy={booking.busy}
      onClose={onClose}
    >
      <NumberInput
        label={t('account.topUp.amount', { currency })}
        min={0}
        decimalScale={6}
        hideControls
        data-autofocus
        {...form.getInputProps('amount')}
      />
      <TextInput
        label={t('account.topUp.reference')}
        description={t('account.topUp.referenceHint')}
        maxLength={200}
        {...form.getInputProps('reference')}
      />
      <Text size="sm" c="dimmed" className="tabular">
        {t('account.topUp.change', {
          before: format.money(availableCredit, currency),
          after: format.money(after, currency),
        })}
      </Text>
    </DialogForm>
  );
}
