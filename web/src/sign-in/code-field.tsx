import { TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';

type CodeFieldProps = {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error?: string | null;
};

/** The field for a code of the authenticator app or a recovery code; browsers and phones fill in the former. */
export function CodeField({ value, onChange, error }: CodeFieldProps) {
  const { t } = useTranslation('sign-in');
  return (
    <TextInput
      label={t('code.label')}
      description={t('code.hint')}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
      autoComplete="one-time-code"
      autoCapitalize="none"
      spellCheck={false}
      maxLength={40}
      data-autofocus
      autoFocus
    />
  );
}
