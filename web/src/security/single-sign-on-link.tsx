import { Building2 } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { ButtonLink } from '../ui/link.tsx';

/** Leads to the settings of single sign-on. */
export function SingleSignOnLink() {
  const { t } = useTranslation('security');
  return (
    <ButtonLink to="/security/single-sign-on" variant="default" leftSection={<Building2 size={16} />}>
      {t('singleSignOn')}
    </ButtonLink>
  );
}
