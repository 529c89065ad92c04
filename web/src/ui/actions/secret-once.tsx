import { Alert, Code, Group, Stack, Text } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from './copy-button.tsx';

type SecretOnceProps = {
  /** Name of the secret: "API key". */
  readonly label: string;
  readonly secret: string;
  /** Use of the secret, or expiry of the old one. */
  readonly note?: string;
};

/** A secret that is shown only once, with a copy button. */
export function SecretOnce({ label, secret, note }: SecretOnceProps) {
  const { t } = useTranslation('ui');
  return (
    <Alert color="amber" icon={<KeyRound size={18} />} title={t('secret.title')}>
      <Stack gap="xs">
        <Text size="sm">{note ?? t('secret.note')}</Text>
        <Group gap="xs" wrap="nowrap" align="center">
          <Code aria-label={label} dir="ltr" fz="sm" p="xs" style={{ overflowWrap: 'anywhere', userSelect: 'all' }}>
            {secret}
          </Code>
          <CopyButton text={secret} label={t('secret.copy', { label })} />
        </Group>
      </Stack>
    </Alert>
  );
}
