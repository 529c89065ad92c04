import { Button } from '@mantine/core';
import { KeyRound } from 'lucide-react';
import { useTranslation } from 'react-i18next';

/** The button that asks for a passkey. */
export function PasskeyButton({ busy, onClick }: { readonly busy: boolean; readonly onClick: () => void }) {
  const { t } = useTranslation('sign-in');
  return (
    <Button variant="default" leftSection={<KeyRound size={16} />} loading={busy} onClick={onClick} fullWidth>
      {t('passkey.use')}
    </Button>
  );
}
