import '@mantine/notifications/styles.css';
import { Notifications, showNotification } from '@mantine/notifications';
import { useTranslation } from 'react-i18next';

export { showNotification };

/** Where notifications appear; `tell` shows them. */
export function Notices() {
  const { t } = useTranslation('ui');
  return <Notifications position="bottom-right" limit={4} aria-label={t('notifications')} />;
}
