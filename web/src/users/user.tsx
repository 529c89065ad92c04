import { Button, PasswordInput, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import type { Need } from '../api/session.ts';

/** The permission that changes to users require. */
export const NEED: Need = { scope: 'keys', write: true };

export const USERS = '/api/partner-gateway/v1/users';

export const ROLES = ['viewer', 'sender', 'manager', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** The server's minimum length of a password. */
const MIN_PASSWORD_LENGTH = 12;

export const listUsers = ({ page, limit }: { page: number; limit: number }, signal: AbortSignal) =>
  ok(api.GET(USERS, { params: { query: { page, limit } }, signal }));

/** A user of the account. */
export type User = Awaited<ReturnType<typeof listUsers>>['data'][number];

const PASSWORD_ALPHABET = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const SUGGESTED_LENGTH = 20;

/** Generates a password of 20 out of 56 letters and digits that are not easily confused: 116 bits. */
function suggestPassword(): string {
  let password = '';
  while (password.length < SUGGESTED_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(SUGGESTED_LENGTH))) {
      // Bytes beyond the last multiple of the alphabet's length are skipped, because they would favour its first letters.
      if (byte < 256 - (256 % PASSWORD_ALPHABET.length) && password.length < SUGGESTED_LENGTH)
        password += PASSWORD_ALPHABET[byte % PASSWORD_ALPHABET.length];
    }
  }
  return password;
}

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

/** Returns a function that describes the fault of a password; null if there is none. */
export function usePasswordFault(): (password: string, username: string) => string | null {
  const { t } = useTranslation('users');
  return (password, username) => {
    if (password.length < MIN_PASSWORD_LENGTH) return t('password.short', { count: MIN_PASSWORD_LENGTH });
    return password.toLowerCase() === username.toLowerCase() ? t('password.isName') : null;
  };
}
