import { NumberInput, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { ConnectionChoice } from './connection-choice.tsx';
import { COST_KEYS, COSTS } from './cost.ts';
import { digitsOf, PrefixInput } from './shared.tsx';

type AddProps = { readonly onClose: () => void };

/** Dialog that sets a charge of the carrier of a connection; an existing cost is replaced. */
export function AddDialog({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={onClose} title={t('cost.add.title')} size="md">
      <Add onClose={onClose} />
    </Dialog>
  );
}

type NewCost = {
  readonly connection: string;
  readonly prefix: string;
  readonly network: string;
  readonly price: number | string;
};

function Add({ onClose }: AddProps) {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  const form = useForm<NewCost>({
    initialValues: { connection: '', prefix: '', network: '', price: '' },
    validate: {
      connection: (name) => (name === '' ? t('route.add.connectionMissing') : null),
      price: (price) => (price === '' ? t('price.add.priceMissing') : null),
    },
  });
  const adding = useAction({
    run: ({ connection, prefix, network, price }: NewCost) =>
      ok(
        api.PUT(COSTS, {
          body: { connection, prefix: digitsOf(prefix), ...(network && { network }), price: Number(price) },
        }),
      ),
    refresh: COST_KEYS,
    done: t('cost.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('cost.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <ConnectionChoice {...form.getInputProps('connection')} />
      <PrefixInput {...form.getInputProps('prefix')} />
      <TextInput
        label={t('cost.network')}
        description={t('cost.add.networkHint')}
        inputMode="numeric"
        maxLength={6}
        {...form.getInputProps('network')}
      />
      <NumberInput
        label={t('cost.add.price', { currency })}
        min={0}
        decimalScale={6}
        hideControls
        {...form.getInputProps('price')}
      />
    </DialogForm>
  );
}
