import { Checkbox, NativeSelect, NumberInput, SimpleGrid, Textarea, TextInput } from '@mantine/core';
import type { useForm } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { ALPHABETS, ID_FORMATS, type Settings } from './credential.ts';

type SettingsFieldsProps = { readonly form: Pick<ReturnType<typeof useForm<Settings>>, 'getInputProps'> };

const FIGURE = { min: 1, allowDecimal: false, hideControls: true } as const;
const LINES = { autosize: true, minRows: 1, maxRows: 8 } as const;

/** The fields of a credential, for a new one and for a change. */
export function SettingsFields({ form }: SettingsFieldsProps) {
  const { t } = useTranslation('smpp');
  return (
    <>
      <TextInput
        label={t('column.name')}
        description={t('field.nameHint')}
        maxLength={200}
        data-autofocus
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }}>
        <NumberInput {...FIGURE} max={100} label={t('field.maxBinds')} {...form.getInputProps('maxBinds')} />
        <NumberInput {...FIGURE} max={1000} label={t('field.window')} {...form.getInputProps('window')} />
        <NumberInput
          {...FIGURE}
          max={100_000}
          label={t('field.tps')}
          placeholder={t('field.tpsOfAccount')}
          {...form.getInputProps('tps')}
        />
      </SimpleGrid>
      <Textarea
        {...LINES}
        label={t('field.addresses')}
        description={t('field.addressesHint')}
        {...form.getInputProps('addresses')}
      />
      <Textarea
        {...LINES}
        label={t('field.senders')}
        description={t('field.sendersHint')}
        {...form.getInputProps('senders')}
      />
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('field.alphabet')}
          data={ALPHABETS.map((value) => ({ value, label: t(`alphabet.${value}`) }))}
          {...form.getInputProps('alphabet')}
        />
        <NativeSelect
          label={t('field.messageIds')}
          data={ID_FORMATS.map((value) => ({ value, label: t(`messageIds.${value}`) }))}
          {...form.getInputProps('messageIds')}
        />
      </SimpleGrid>
      <Checkbox label={t('field.inbound')} {...form.getInputProps('inbound', { type: 'checkbox' })} />
    </>
  );
}
