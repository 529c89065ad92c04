import { TextInput, type TextInputProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** The input for a number prefix. Spaces and a plus sign are allowed (see `digitsOf`). */
export function PrefixInput(input: TextInputProps) {
  const { t } = useTranslation('operator');
  return (
    <TextInput
      label={t('prefix.label')}
      description={t('prefix.hint')}
      inputMode="tel"
      dir="ltr"
      maxLength={16}
      {...input}
    />
  );
}

export const digitsOf = (prefix: string): string => prefix.replaceAll(/[\s+]/g, '');
