import { NativeSelect, SimpleGrid, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { type Network, type TemplateOption, templateQuery } from '../../api/networks.ts';
import { ErrorState } from '../../ui/error-state.tsx';
import type { DraftForm } from '../draft.ts';

type TemplateFieldsProps = {
  readonly channel: Network;
  readonly form: DraftForm;
  readonly template: TemplateOption | undefined;
};

/** The fields for an approved template and its values. */
export function TemplateFields({ channel, form, template }: TemplateFieldsProps) {
  const { t } = useTranslation('send');
  const { data = [], error, isPending, refetch } = useQuery(templateQuery(channel));
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <NativeSelect
        label={t('template')}
        description={!isPending && data.length === 0 ? t('noTemplate') : t('templateHint')}
        data={[{ value: '', label: t('choose') }, ...data.map(({ value, label }) => ({ value, label }))]}
        disabled={isPending}
        withAsterisk
        {...form.getInputProps(`${channel}.templateId`)}
      />
      {template?.wantsFile && (
        <TextInput
          type="url"
          label={t('headerLink')}
          description={t('headerLinkHint')}
          withAsterisk
          maxLength={2048}
          {...form.getInputProps(`${channel}.headerLink`)}
        />
      )}
      {template && template.placeholders.length > 0 && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {template.placeholders.map((name) => (
            <Value key={name} name={name} channel={channel} form={form} />
          ))}
        </SimpleGrid>
      )}
    </>
  );
}

type ValueProps = { readonly name: string; readonly channel: Network; readonly form: DraftForm };

function Value({ name, channel, form }: ValueProps) {
  const { t } = useTranslation('send');
  const { variables } = form.values[channel];
  return (
    <TextInput
      label={t('value', { name: `{{${name}}}` })}
      withAsterisk
      maxLength={1024}
      dir="auto"
      value={variables[name] ?? ''}
      error={form.errors[`variables.${name}`]}
      onChange={(event) => {
        form.setFieldValue(`${channel}.variables`, { ...variables, [name]: event.currentTarget.value });
        form.clearFieldError(`variables.${name}`);
      }}
    />
  );
}
