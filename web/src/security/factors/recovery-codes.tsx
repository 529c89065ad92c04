import { Alert, Button, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { LifeBuoy } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '../../ui/actions/copy-button.tsx';

type RecoveryCodesProps = { readonly codes: readonly string[]; readonly onClose: () => void };

/** The recovery codes, which are shown only once. */
export function RecoveryCodes({ codes, onClose }: RecoveryCodesProps) {
  const { t } = useTranslation('security');
  return (
    <Stack>
      <Alert color="amber" icon={<LifeBuoy size={18} />} title={t('factors.codesTitle')}>
        <Text size="sm">{t('factors.codesText')}</Text>
      </Alert>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" component="ul" m={0} p={0} style={{ listStyle: 'none' }}>
        {codes.map((code) => (
          <li key={code}>
            <Code dir="ltr" fz="sm">
              {code}
            </Code>
          </li>
        ))}
      </SimpleGrid>
      <Group justify="space-between">
        <CopyButton text={codes.join('\n')} label={t('factors.codesCopy')} />
        <Button onClick={onClose}>{t('factors.codesDone')}</Button>
      </Group>
    </Stack>
  );
}
