import { useTranslation } from 'react-i18next';
import { Page as Frame } from '../ui/page.tsx';
import { AlertList } from './alert-list.tsx';
import { Rules } from './rules.tsx';
import { Targets } from './targets.tsx';

/** The page of alerts: current problems, recipients, and the rules by which a condition is an alert. */
export function Page() {
  const { t } = useTranslation('alerts');
  return (
    <Frame title={t('title')} description={t('description')}>
      <AlertList />
      <Targets />
      <Rules />
    </Frame>
  );
}
