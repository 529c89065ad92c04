import { Checkbox, Collapse, NativeSelect, PasswordInput, SimpleGrid, Stack, Textarea, TextInput, UnstyledButton, Group, Text } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { ChevronDown, ChevronRight } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Kind } from './connection.ts';
import { type Field, FIELDS, type Values } from './fields.ts';

export type LinkValues = { readonly name: string; readonly settings: Values; readonly secret: Values };
type Form = UseFormReturnType<LinkValues>;
type Part = 'settings' | 'secret';

type GroupProps = { readonly form: Form; readonly kind: Kind };

/** The settings of a kind: those that every carrier hands out, the others behind a button. */
export function SettingsFields({ form, kind }: GroupProps) {
  const { t } = useTranslation('operator');
  const [isOpen, { toggle }] = useDisclosure(FIELDS[kind].more.some(({ name }) => form.errors[`settings.${name}`]));
  const Sign = isOpen ? ChevronDown : ChevronRight;
  return (
    <Stack>
      <Fields form={form} kind={kind} part="settings" fields={FIELDS[kind].main} />
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <Group gap={6}>
          <Sign size={16} aria-hidden="true" />
          <Text size="sm" fw={600}>
            {t('connection.moreSettings', { count: FIELDS[kind].more.length })}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Fields form={form} kind={kind} part="settings" fields={FIELDS[kind].more} />
      </Collapse>
    </Stack>
  );
}

/** The secrets; `isKept`: what is left empty stays as it is. */
export function SecretFields({ form, kind, isKept = false }: GroupProps & { readonly isKept?: boolean }) {
  return <Fields form={form} kind={kind} part="secret" fields={FIELDS[kind].secret} isKept={isKept} />;
}

type FieldsProps = GroupProps & { readonly part: Part; readonly fields: readonly Field[]; readonly isKept?: boolean };

const Fields = ({ fields, ...rest }: FieldsProps) => (
  <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="md" verticalSpacing="md">
    {fields.map((field) => (
      <OneField key={field.name} field={field} {...rest} />
    ))}
  </SimpleGrid>
);

type OneProps = Omit<FieldsProps, 'fields'> & { readonly field: Field };

function OneField({ form, kind, part, field, isKept = false }: OneProps) {
  const { t } = useTranslation('operator');
  const { name, type, options = [], fallback, isRequired = false } = field;
  const path = `${part}.${name}`;
  const words = {
    label: t(`setting.${kind}.${name}`),
    description: t(`settingHint.${kind}.${name}`),
    withAsterisk: isRequired && !isKept,
    placeholder: isKept ? t('connection.unchanged') : fallback === undefined ? undefined : String(fallback),
  };
  if (type === 'switch') return <OnOff form={form} path={path} label={words.label} description={words.description} />;
  const input = form.getInputProps(path);
  if (type === 'choice') {
    const data = [...(options.includes(String(fallback)) ? [] : ['']), ...options];
    return <NativeSelect {...words} {...input} data={data.map((value) => ({ value, label: t(`settingOption.${name}.${value || 'none'}`) }))} />;
  }
  if (type === 'key') return <Textarea {...words} {...input} autosize minRows={4} maxRows={10} styles={MONO} spellCheck={false} />;
  if (type === 'secret') return <PasswordInput {...words} {...input} autoComplete="new-password" visibilityToggleButtonProps={{ 'aria-label': t('connection.showSecret') }} />;
  return <TextInput {...words} {...input} inputMode={type === 'figure' ? 'decimal' : 'text'} dir="ltr" autoComplete="off" spellCheck={false} />;
}

const MONO = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 'var(--mantine-font-size-xs)' } };

type OnOffProps = { readonly form: Form; readonly path: string; readonly label: string; readonly description: string };

const OnOff = ({ form, path, label, description }: OnOffProps) => (
  <Checkbox mt={4} label={label} description={description} {...form.getInputProps(path, { type: 'checkbox' })} />
);
