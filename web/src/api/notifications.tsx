import '@mantine/notifications/styles.css';
import { Notifications, showNotification } from '@mantine/notifications';

export { showNotification };

/** Where notifications appear; `showNotification` shows them. */
export function Notices() {
  return <Notifications position="bottom-right" limit={4} />;
}
