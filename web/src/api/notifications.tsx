import '@mantine/notifications/styles.layer.css';
import { Button, Group } from '@mantine/core';
import { Notifications, showNotification } from '@mantine/notifications';
import { useState } from 'react';

export { showNotification };

/** A button in a notification. */
export type NoticeAction = { readonly label: string; readonly onClick: () => void };

/** The content of a notification with a button, which works once. */
export const withAction = (message: string, { label, onClick }: NoticeAction) => (
  <Acting {...{ message, label, onClick }} />
);

function Acting({ message, label, onClick }: NoticeAction & { readonly message: string }) {
  const [isDone, setDone] = useState(false);
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <span>{message}</span>
      <Button
        size="compact-sm"
        variant="light"
        disabled={isDone}
        onClick={() => {
          setDone(true);
          onClick();
        }}
      >
        {label}
      </Button>
    </Group>
  );
}

/** The area where `notify` shows notifications. */
export function NotificationArea() {
  return <Notifications position="bottom-right" limit={4} />;
}
