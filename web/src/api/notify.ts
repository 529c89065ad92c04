import type { NoticeAction } from './notifications.tsx';

/** A notification. Bad news stays until it is closed. */
export type Notice = {
  readonly message: string;
  readonly tone: 'good' | 'bad';
  readonly closeLabel: string;
  /** Follow-up action for the user, such as undo. The next notification with an action replaces this one. */
  readonly action?: NoticeAction;
};

let withLastAction = '';

/** Removes the notification with an action, if one is shown: its offer no longer concerns the last action. */
export async function withdrawAction(): Promise<void> {
  if (withLastAction === '') return;
  const { hideNotification } = await import('./notifications.tsx');
  hideNotification(withLastAction);
}

/** Shows a notification. The notification code is loaded with the first one, because no page needs it at first. */
export async function notify({ message, tone, closeLabel, action }: Notice): Promise<void> {
  const { hideNotification, showNotification, withAction } = await import('./notifications.tsx');
  // Nothing is awaited between the two: of notifications at the same time, the last one stays.
  if (action) hideNotification(withLastAction);
  const once = action && { ...action, onClick: () => (hideNotification(id), action.onClick()) };
  const id: string = showNotification({
    message: once ? withAction(message, once) : message,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: tone === 'bad' ? false : action ? ACTION_CLOSE_MS : AUTO_CLOSE_MS,
    closeButtonProps: { 'aria-label': closeLabel },
    role: tone === 'good' ? 'status' : 'alert',
  });
  if (action) withLastAction = id;
}

const AUTO_CLOSE_MS = 5_000;
/** Time to notice a mistake and undo it. */
const ACTION_CLOSE_MS = 10_000;
