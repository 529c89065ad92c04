import { Button, Group } from '@mantine/core';
import { hideNotification, Notifications, showNotification } from '@mantine/notifications';
import '@mantine/notifications/styles.layer.css';
import { useState } from 'react';

export { hideNotification, showNotification };

/** A button in a notification, with further attributes of it, such as the key that presses it. */
export type NoticeAction = {
  readonly label: string;
  readonly onClick: () => void;
  readonly attributes?: Readonly<Record<string, string>>;
};

/** The content of a notification with a button, which works once. */
export const withAction = (message: string, action: NoticeAction) => <Acting message={message} {...action} />;

function Acting({ message, label, onClick, attributes }: NoticeAction & { readonly message: string }) {
  const [isDone, setDone] = useState(false);
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <span>{message}</span>
      <Button
        {...attributes}
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

/**
 * The area where `notify` shows notifications. They disappear without a fade, because one that fades out would still
 * take clicks and keys, and undo what is no longer the last action.
 */
export function NotificationArea() {
  return <Notifications position="bottom-right" limit={4} transitionDuration={0} />;
}
