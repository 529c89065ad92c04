/** A notification. Bad news stays until it is closed. */
export type Notice = { readonly message: string; readonly tone: 'good' | 'bad'; readonly closeLabel: string };

/** Shows a notification. The notification code is loaded with the first one, because no page needs it at first. */
export async function notify({ message, tone, closeLabel }: Notice): Promise<void> {
  const { showNotification } = await import('./notifications.tsx');
  showNotification({
    message,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: tone === 'good' ? AUTO_CLOSE_MS : false,
    closeButtonProps: { 'aria-label': closeLabel },
    role: tone === 'good' ? 'status' : 'alert',
  });
}

const AUTO_CLOSE_MS = 5_000;
