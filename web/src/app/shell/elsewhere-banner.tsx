import { Alert, Button, Group, Text } from '@mantine/core';
import { Eye } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { useSwitchAccount } from './switch-account.ts';

/** Banner for an operator who is in another account. */
export function ElsewhereBanner() {
  const { t } = useTranslation('app');
  const { account, isElsewhere } = useSession();
  const switching = useSwitchAccount();
  if (!isElsewhere) return null;
  return (
    <Alert color="blue" icon={<Eye size={18} />} mb="lg" py="xs" role="status">
      <Group justify="space-between">
        <Text size="sm">{t('elsewhere', { account: account.name })}</Text>
        <Button size="xs" variant="default" loading={switching.busy} onClick={() => switching.run(null)}>
          {t('backToOwn')}
        </Button>
      </Group>
    </Alert>
  );
}
