import { Button, Group, Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SecretOnce } from '../ui/actions/secret-once.tsx';

type PasswordOnceProps = { readonly username: string; readonly password: string; readonly onClose: () => void };

/** Shows another user's new password once, so that it can be passed on. */
export function PasswordOnce({ username, password, onClose }: PasswordOnceProps) {
  const { t } = useTranslation('users');
  return (
    <Stack>
      <SecretOnce label={t('password.of')} secret={password} note={t('password.handOver', { username })} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('password.handedOver')}</Button>
      </Group>
    </Stack>
  );
}
