import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { SecretOnce } from '../ui/actions/secret-once.tsx';

type IssuedProps = {
  readonly credential: { readonly systemId: string; readonly password: string };
  readonly onClose: () => void;
};

/** Credentials with which a client binds: the password is shown only here. */
export function Issued({ credential: { systemId, password }, onClose }: IssuedProps) {
  const { t } = useTranslation('smpp');
  return (
    <Stack>
      <Group gap="xs">
        <Text size="sm">{t('column.systemId')}</Text>
        <Code aria-label={t('column.systemId')} dir="ltr">
          {systemId}
        </Code>
      </Group>
      <SecretOnce label={t('password')} secret={password} />
      <Group justify="flex-end">
        <Button onClick={onClose}>{t('create.done')}</Button>
      </Group>
    </Stack>
  );
}
