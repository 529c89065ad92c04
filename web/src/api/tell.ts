/** Something to be said in the corner of the window. Bad news stays until it is closed. */
export type Told = { readonly message: string; readonly tone: 'good' | 'bad'; readonly closeLabel: string };

/** The notifications come with the first thing that is said: no page needs them to begin with. */
export async function tell({ message, tone, closeLabel }: Told): Promise<void> {
  const { showNotification } = await import('./notifications.tsx');
  showNotification({
    message,
    color: tone === 'good' ? 'green' : 'red',
    autoClose: tone === 'good' ? GOOD_NEWS_MS : false,
    closeButtonProps: { 'aria-label': closeLabel },
    role: tone === 'good' ? 'status' : 'alert',
  });
}

const GOOD_NEWS_MS = 5_000;
