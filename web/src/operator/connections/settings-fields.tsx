import {
  Checkbox,
  Collapse,
  Divider,
  Group,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { ChevronDown, ChevronRight } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { errorsOf, type Field, fieldsOf, textOf, type Values } from './fields.ts';
import type { Kind } from './kind.ts';
import { useFieldTexts, useSettingText } from './setting-text.ts';

export type LinkValues = { readonly name: string; readonly settings: Values; readonly secret: Values };
type Form = UseFormReturnType<LinkValues>;
type LinkProps = {
  readonly form: Form;
  readonly kind: Kind;
  /** True if a secret is already stored; empty secret fields then leave it unchanged. */
  readonly isKept?: boolean;
};

/** The fields of a connection: access, other agreed settings and, behind a button, rarely used settings. */
export function LinkFields({ form, kind, isKept = false }: LinkProps) {
  const { t } = useTranslation('operator');
  const { access, secret, main, more } = fieldsOf(kind);
  const [isOpen, { toggle }] = useDisclosure(more.some(({ name }) => errorsOf(form.errors, `settings.${name}`) !== ''));
  const Sign = isOpen ? ChevronDown : ChevronRight;
  const shared = { form, kind, isKept };
  return (
    <Stack gap="lg">
      <Grid>
        <Fields {...shared} part="settings" fields={access} />
        <Fields {...shared} part="secret" fields={secret} />
      </Grid>
      <Divider />
      <Grid>
        <Fields {...shared} part="settings" fields={main} />
      </Grid>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <Group gap={6} wrap="nowrap" align="flex-start">
          <Sign size={16} aria-hidden="true" style={{ flexShrink: 0, marginTop: 3 }} />
          <Text size="sm" fw={600}>
            {t('connection.moreSettings', { count: more.length })}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Grid>
          <Fields {...shared} part="settings" fields={more} />
        </Grid>
      </Collapse>
    </Stack>
  );
}

const Grid = ({ children }: { readonly children: ReactNode }) => (
  <SimpleGrid cols={{ base: 1, sm: 2 }}>{children}</SimpleGrid>
);

type FieldsProps = LinkProps & { readonly part: 'settings' | 'secret'; readonly fields: readonly Field[] };

const Fields = ({ fields, ...rest }: FieldsProps) =>
  fields.map((field) => <FieldInput key={field.name} field={field} {...rest} />);

type FieldInputProps = Omit<FieldsProps, 'fields'> & { readonly field: Field };

function FieldInput({ form, kind, part, field, isKept = false }: FieldInputProps) {
  const { t } = useTranslation('operator');
  const { name, type, options, fallback, isRequired, maxLength } = field;
  const path = `${part}.${name}`;
  const fieldTexts = useFieldTexts();
  const optionText = useSettingText();
  const texts = {
    ...fieldTexts(kind, field),
    withAsterisk: isRequired && !(isKept && part === 'secret'),
    placeholder:
      isKept && part === 'secret' ? t('connection.unchanged') : fallback === undefined ? undefined : textOf(fallback),
  };
  if (type === 'boolean') return <OnOff form={form} path={path} label={texts.label} description={texts.description} />;
  const input = form.getInputProps(path);
  if (type === 'choice') {
    const values = [...(fallback === undefined ? ['none'] : []), ...options.map(String)];
    return (
      <NativeSelect
        {...texts}
        {...input}
        data={values.map((value) => ({ value: value === 'none' ? '' : value, label: optionText(field, value) }))}
      />
    );
  }
  if (type === 'object')
    return (
      <Textarea
        {...texts}
        {...input}
        error={errorsOf(form.errors, path) || undefined}
        autosize
        minRows={2}
        maxRows={16}
        dir="ltr"
        styles={MONO}
        spellCheck={false}
      />
    );
  if (type === 'key')
    return <Textarea {...texts} {...input} autosize minRows={4} maxRows={10} styles={MONO} spellCheck={false} />;
  if (type === 'secret')
    return (
      <PasswordInput
        {...texts}
        {...input}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('connection.showSecret') }}
      />
    );
  return (
    <TextInput
      {...texts}
      {...input}
      maxLength={maxLength}
      inputMode={type === 'number' ? 'decimal' : 'text'}
      dir="ltr"
      autoComplete="off"
      spellCheck={false}
    />
  );
}

const MONO = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 'var(--mantine-font-size-xs)' } };

type OnOffProps = { readonly form: Form; readonly path: string; readonly label: string; readonly description: string };

const OnOff = ({ form, path, label, description }: OnOffProps) => (
  <Checkbox mt={4} label={label} description={description} {...form.getInputProps(path, { type: 'checkbox' })} />
);
