import { SimpleGrid, Stack, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useTranslation } from 'react-i18next';
import { Section } from '../../../ui/section.tsx';
import type { Kind } from '../kind.ts';
import { LinkFields, type LinkValues } from '../settings-fields.tsx';

type StepProps = { readonly form: UseFormReturnType<LinkValues>; readonly kind: Kind };

/** The step for the settings from the carrier. */
export function SettingsStep({ form, kind }: StepProps) {
  const { t } = useTranslation('operator');
  return (
    <Section
      title={t('wizard.settingsOf', { kind: t(`kind.${kind.kind}.name`) })}
      description={t('wizard.settingsHint')}
    >
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label={t('connection.name')}
            description={t('wizard.nameHint')}
            withAsterisk
            maxLength={63}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('name')}
          />
        </SimpleGrid>
        <LinkFields form={form} kind={kind} />
      </Stack>
    </Section>
  );
}
