import '@mantine/notifications/styles.css';
import { Notifications, showNotification } from '@mantine/notifications';

export { showNotification };

/** The area where `notify` shows notifications. */
export function NotificationArea() {
  return <Notifications position="bottom-right" limit={4} />;
}
