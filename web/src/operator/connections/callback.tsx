import { Code, Group, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../../ui/actions/copy-button.tsx';
import type { KindName } from './kind.ts';

/** The callback URL to enter at the carrier. */
export function Callback({ kind, url }: { readonly kind: KindName; readonly url: string }) {
  const { t } = useTranslation('operator');
  return (
    <Stack gap="xs">
      <Text size="sm">{t(`kind.${kind}.callback`)}</Text>
      <Group gap="xs" wrap="nowrap">
        <Code dir="ltr" fz="sm" p="xs" style={{ overflowWrap: 'anywhere' }} aria-label={t('connection.callback')}>
          {url}
        </Code>
        <CopyButton text={url} label={t('connection.copyCallback')} />
      </Group>
    </Stack>
  );
}
