import { Button } from '@mantine/core';
import { ArrowLeft } from 'lucide-react';
import { useTranslation } from 'react-i18next';

/** Button to the previous step. */
export function BackButton({ onClick }: { readonly onClick: () => void }) {
  const { t } = useTranslation('campaigns');
  return (
    <Button variant="default" leftSection={<ArrowLeft size={16} />} onClick={onClick}>
      {t('editor.back')}
    </Button>
  );
}
