import { Code, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { PG } from './account.ts';
import { placeholdersIn, type TemplateDraft } from './template-draft.ts';

type PlaceholderFieldsProps = { readonly form: UseFormReturnType<TemplateDraft> };

/** For each placeholder of the text: an example for the network, and the contact field that fills it in campaigns. */
export function PlaceholderFields({ form }: PlaceholderFieldsProps) {
  const { t } = useTranslation('account');
  const { data = [] } = useQuery({
    queryKey: ['campaigns', 'placeholders'],
    queryFn: ({ signal }) => ok(api.GET(`${PG}/contacts/placeholders`, { signal })),
    enabled: useSession().may({ scope: 'campaigns' }),
  });
  const names = placeholdersIn(form.values.text);
  return (
    <Stack gap="xs">
      {names.map((name) => (
        <Group key={name} gap="xs" align="flex-end" wrap="nowrap">
          <Code mb={8} className="foreign-text">{`{{${name}}}`}</Code>
          <TextInput
            label={t('template.example')}
            aria-label={t('template.exampleOf', { name })}
            value={form.values.examples[name] ?? ''}
            onChange={(event) =>
              form.setFieldValue('examples', { ...form.values.examples, [name]: event.currentTarget.value })
            }
            style={{ flex: 1 }}
          />
          <NativeSelect
            label={t('template.field')}
            aria-label={t('template.fieldOf', { name })}
            data={[
              { value: '', label: t('template.anyField') },
              ...data.map((field) => ({ value: field.name, label: field.name })),
            ]}
            value={form.values.fields[name] ?? ''}
            onChange={(event) =>
              form.setFieldValue('fields', { ...form.values.fields, [name]: event.currentTarget.value })
            }
            style={{ flex: 1 }}
          />
        </Group>
      ))}
    </Stack>
  );
}
