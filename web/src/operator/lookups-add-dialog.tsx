import { Checkbox, NumberInput, PasswordInput, Select, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { Dialog, DialogForm } from '../ui/dialog.tsx';
import { LOOKUP_KEYS, LOOKUPS } from './lookup.ts';

type AddProps = { readonly presets: readonly string[]; readonly onClose: () => void };

/** Dialog that adds one of the services whose protocol is known; others are added by the command. */
export function AddDialog(props: AddProps) {
  const { t } = useTranslation('operator');
  return (
    <Dialog opened onClose={props.onClose} title={t('lookup.add.title')} size="md">
      <Add {...props} />
    </Dialog>
  );
}

type NewLookup = {
  readonly preset: string;
  readonly name: string;
  readonly account: string;
  readonly apiKey: string;
  readonly price: number | string;
  readonly margins: boolean;
};

const bodyOf = ({ preset, name, account, apiKey, price, margins }: NewLookup) => ({
  name,
  apiKey,
  settings: { preset, ...(account && { account }), ...(price !== '' && { price: Number(price) }), margins },
});

function Add({ presets, onClose }: AddProps) {
  const { t } = useTranslation('operator');
  const { currency } = useSession().account;
  const form = useForm<NewLookup>({
    initialValues: { preset: presets[0] ?? '', name: '', account: '', apiKey: '', price: '', margins: false },
  });
  const adding = useAction({
    run: (values: NewLookup) => ok(api.POST(LOOKUPS, { body: bodyOf(values) })),
    refresh: LOOKUP_KEYS,
    done: t('lookup.add.done'),
    form,
    onDone: onClose,
  });
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => adding.run(values))}
      action={t('lookup.add.submit')}
      busy={adding.busy}
      onClose={onClose}
    >
      <Select
        label={t('lookup.add.preset')}
        description={t('lookup.add.presetHint')}
        data={[...presets]}
        allowDeselect={false}
        {...form.getInputProps('preset')}
      />
      <TextInput data-autofocus label={t('lookup.name')} maxLength={63} {...form.getInputProps('name')} />
      <TextInput
        label={t('lookup.add.account')}
        description={t('lookup.add.accountHint')}
        {...form.getInputProps('account')}
      />
      <PasswordInput label={t('lookup.add.apiKey')} autoComplete="off" {...form.getInputProps('apiKey')} />
      <NumberInput
        label={t('lookup.add.price', { currency })}
        min={0}
        decimalScale={6}
        hideControls
        {...form.getInputProps('price')}
      />
      <Checkbox
        label={t('lookup.add.margins')}
        description={t('lookup.add.marginsHint')}
        {...form.getInputProps('margins', { type: 'checkbox' })}
      />
    </DialogForm>
  );
}
