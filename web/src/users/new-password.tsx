import { Button, PasswordInput, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { MIN_PASSWORD_LENGTH, suggestPassword } from './user.ts';

type NewPasswordProps = {
  readonly label: string;
  readonly input: { readonly value?: string; readonly error?: React.ReactNode; onChange?: (value: never) => void };
  readonly onSuggest?: (password: string) => void;
};

/** The input for a new password; with `onSuggest` it offers a generated one. */
export function NewPassword({ label, input, onSuggest }: NewPasswordProps) {
  const { t } = useTranslation('users');
  return (
    <Stack gap={4}>
      <PasswordInput
        label={label}
        description={t('password.hint', { count: MIN_PASSWORD_LENGTH })}
        autoComplete="new-password"
        maxLength={200}
        visibilityToggleButtonProps={{ 'aria-label': t('password.show') }}
        {...input}
      />
      {onSuggest && (
        <Button variant="subtle" size="xs" w="fit-content" onClick={() => onSuggest(suggestPassword())}>
          {t('password.suggest')}
        </Button>
      )}
    </Stack>
  );
}
