import { Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { OwnFactors } from './own-factors.tsx';
import { Policy } from './policy.tsx';

/** The user's own second factors and, for those who may change it, the policy of the account. */
export function FactorsTab() {
  const { t } = useTranslation('security');
  const { may, isElsewhere } = useSession();
  return (
    <Stack gap="lg">
      {isElsewhere ? <Text size="sm">{t('factors.elsewhere')}</Text> : <OwnFactors />}
      {may({ scope: 'keys' }) && <Policy />}
    </Stack>
  );
}
