import type { NoticeAction } from './notifications.tsx';

/** A notification. Bad news stays until it is closed. */
export type Notice = {
  readonly message: string;
  readonly tone: 'good' | 'bad';
  readonly closeLabel: string;
  /** What the user can still do, such as to undo it. */
  readonly action?: NoticeAction;
};

/** Shows a notification. The notification code is loaded with the first one, because no page needs it at first. */
export async function notify({ message, tone, closeLabel, action }: Notice): Promise<void> {
  const { showNotification, withAction } = await import('./notifications.tsx');
  showNotification({
    message: action ? withAction(message, action) : message,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: tone === 'bad' ? false : action ? ACTION_CLOSE_MS : AUTO_CLOSE_MS,
    closeButtonProps: { 'aria-label': closeLabel },
    role: tone === 'good' ? 'status' : 'alert',
  });
}

const AUTO_CLOSE_MS = 5_000;
/** Time to find out that it was the wrong one. */
const ACTION_CLOSE_MS = 10_000;
