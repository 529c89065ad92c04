import { Checkbox, NativeSelect, NumberInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { useSession } from '../api/session.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { CHANNELS } from './account.tsx';
import { type Channel, PRICE_KEYS, setPrice } from './price.ts';
import { digitsOf, PrefixInput } from './shared.tsx';

type AddProps = { readonly onClose: () => void };

/** Dialog that sets the price for a channel and a prefix; an existing price is replaced. */
export function AddDialog({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('price.add.title')} size="md">
      <Add onClose={onClose} />
    </Dialog>
  );
}

type NewPrice = {
  readonly channel: Channel;
  readonly prefix: string;
  readonly price: number | string;
  readonly refundUndelivered: boolean;
};

function Add({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  const form = useForm<NewPrice>({
    initialValues: { channel: 'SMS', prefix: '', price: '', refundUndelivered: false },
    validate: { price: (price) => (price === '' ? t('price.add.priceMissing') : null) },
  });
  const adding = useAction({
    run: ({ price, prefix, ...rest }: NewPrice) =>
      setPrice({ ...rest, prefix: digitsOf(prefix), price: Number(price) }),
    refresh: PRICE_KEYS,
    done: t('price.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('price.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <NativeSelect
        label={t('channel')}
        data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
        {...form.getInputProps('channel')}
      />
      <PrefixInput data-autofocus {...form.getInputProps('prefix')} />
      <NumberInput
        label={t(form.getValues().channel === 'SMS' ? 'price.add.perPart' : 'price.add.perMessage', { currency })}
        min={0}
        decimalScale={6}
        hideControls
        {...form.getInputProps('price')}
      />
      <Checkbox
        label={t('price.add.refund')}
        description={t('price.add.refundHint')}
        {...form.getInputProps('refundUndelivered', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}
