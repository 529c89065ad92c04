import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** Button to the previous step. */
export function Back({ onBack }: { readonly onBack: () => void }) {
  const { t } = useTranslation('contacts');
  return (
    <Button variant="default" onClick={onBack}>
      {t('import.back')}
    </Button>
  );
}
