import { NumberInput, Text, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { ACCOUNT_KEYS, ACCOUNTS, type AccountDetails } from './account.tsx';

/** Dialog for a top-up: amount and reference, with the resulting credit. */
export function TopUpDialog({
  account: { id, name, availableCredit, currency },
}: {
  readonly account: AccountDetails;
}) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  return (
    <FormDialog
      title={t('account.topUp.title', { name })}
      values={{ amount: '', reference: '' }}
      validate={{ amount: (amount) => (Number(amount) > 0 ? null : t('account.topUp.amountMissing')) }}
      run={({ amount, reference }) =>
        ok(
          api.POST(`${ACCOUNTS}/{id}/credit`, {
            params: { path: { id } },
            body: { amount: Number(amount), ...(reference && { reference }) },
          }),
        )
      }
      refresh={[...ACCOUNT_KEYS, ['credit']]}
      done={(credit) => t('account.topUp.done', { amount: format.money(credit.availableCredit, credit.currency) })}
      action={t('account.topUp.submit')}
    >
      {(form) => (
        <>
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
              after: format.money(availableCredit + Number(form.values.amount), currency),
            })}
          </Text>
        </>
      )}
    </FormDialog>
  );
}
