import { Button, Checkbox, Group, NativeSelect, Radio, SimpleGrid, Stack, TextInput } from '@mantine/core';
import { useForm, type UseFormReturnType } from '@mantine/form';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/client.ts';
import { SecretOnce } from '../ui/actions/secret-once.tsx';
import { Dialog } from '../ui/dialog/dialog.tsx';
import { DialogForm } from '../ui/dialog/dialog-form.tsx';
import { TimeZoneField } from '../ui/time-zone/time-zone-field.tsx';
import { KEYS, type Target, TARGETS } from './alert.ts';
import { bodyOf, choiceOf, type Fields, fieldsOf, KINDS, SEVERITIES } from './target-fields.ts';
import { LANGUAGES } from '../api/languages.ts';

type DialogProps = {
  /** Null: a new one. */
  readonly target: Target | null;
  readonly onClose: () => void;
};

/** Dialog that adds or changes a recipient. The secret of a new webhook is shown once and forgotten when it closes. */
export function TargetDialog({ target, onClose }: DialogProps) {
  const { t } = useTranslation('alerts');
  const [isAdded, setAdded] = useState(false);
  return (
    <Dialog opened onClose={onClose} title={t(target ? 'target.edit.title' : 'target.new.title')} locked={isAdded}>
      <TargetForm target={target} onClose={onClose} onSecret={() => setAdded(true)} />
    </Dialog>
  );
}

function TargetForm({ target, onClose, onSecret }: DialogProps & { readonly onSecret: () => void }) {
  const { t, i18n } = useTranslation('alerts');
  const form = useForm<Fields>({
    initialValues: fieldsOf(target, i18n.language),
    validate: {
      address: (address, { kind }) =>
        target === null && kind !== 'owners' && address.trim() === '' ? t('required') : null,
    },
  });
  const save = useAction({
    run: async (fields: Fields) => {
      if (target === null) return ok(api.POST(TARGETS, { body: bodyOf(fields) }));
      await ok(api.PUT(`${TARGETS}/{id}`, { params: { path: { id: target.id } }, body: choiceOf(fields) }));
      return { secret: null };
    },
    refresh: KEYS,
    done: t(target ? 'target.edit.done' : 'target.new.done'),
    form,
    onDone: ({ secret }) => (secret === null ? onClose() : onSecret()),
  });
  const secret = save.result?.secret;
  if (secret) return <Secret secret={secret} onClose={onClose} />;
  return (
    <DialogForm
      onSubmit={form.onSubmit((values) => save.run(values))}
      action={t(target ? 'ui:save' : 'target.new.submit')}
      busy={save.busy}
      onClose={onClose}
    >
      {target === null && <WhoFields form={form} />}
      <WhenFields form={form} />
    </DialogForm>
  );
}

function Secret({ secret, onClose }: { readonly secret: string; readonly onClose: () => void }) {
  const { t } = useTranslation('alerts');
  return (
    <Stack>
      <SecretOnce label={t('target.secret.label')} secret={secret} note={t('target.secret.note')} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('ui:close')}</Button>
      </Group>
    </Stack>
  );
}

type FieldsProps = { readonly form: UseFormReturnType<Fields> };

function WhoFields({ form }: FieldsProps) {
  const { t } = useTranslation('alerts');
  const { kind } = form.values;
  return (
    <>
      <Radio.Group label={t('target.field.kind')} {...form.getInputProps('kind')}>
        <Stack gap="xs" mt="xs">
          {KINDS.map((each) => (
            <Radio
              key={each}
              value={each}
              label={t(`target.kind.${each}`)}
              description={t(`target.kindHint.${each}`)}
            />
          ))}
        </Stack>
      </Radio.Group>
      {kind !== 'owners' && (
        <TextInput
          label={t(`target.field.address.${kind}`)}
          placeholder={kind === 'mail' ? 'ops@example.com' : 'https://hooks.example.com/…'}
          {...form.getInputProps('address')}
        />
      )}
    </>
  );
}

function WhenFields({ form }: FieldsProps) {
  const { t } = useTranslation('alerts');
  return (
    <>
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NativeSelect
          label={t('target.field.severity')}
          data={SEVERITIES.map((value) => ({ value, label: t(`target.severity.${value}`) }))}
          {...form.getInputProps('severity')}
        />
        <NativeSelect
          label={t('target.field.language')}
          data={LANGUAGES.map((value) => ({ value, label: t(`app:language.${value}`) }))}
          {...form.getInputProps('language')}
        />
      </SimpleGrid>
      <Checkbox
        label={t('target.field.hasQuiet')}
        description={t('target.field.quietHint')}
        {...form.getInputProps('hasQuiet', { type: 'checkbox' })}
      />
      {form.values.hasQuiet && (
        <>
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            <TextInput type="time" label={t('target.field.from')} required {...form.getInputProps('from')} />
            <TextInput type="time" label={t('target.field.to')} required {...form.getInputProps('to')} />
            <TimeZoneField label={t('target.field.timeZone')} {...form.getInputProps('timeZone')} />
          </SimpleGrid>
          <Checkbox
            label={t('target.field.breaksQuiet')}
            {...form.getInputProps('breaksQuiet', { type: 'checkbox' })}
          />
        </>
      )}
    </>
  );
}
