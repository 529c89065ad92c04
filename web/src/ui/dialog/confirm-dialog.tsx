import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';

type ConfirmDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** A question that names the item: "Revoke “Shop”?" */
  readonly title: string;
  /** Consequences of the action, and the note if it cannot be undone. */
  readonly children: ReactNode;
  /** The label of the button: "Revoke key". */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly busy?: boolean;
  /** `danger` (default) for destructive actions, `normal` for others. */
  readonly kind?: 'danger' | 'normal';
  /** A text that must be typed first, for actions that are hard to undo. */
  readonly typed?: string;
};

/** Asks for confirmation before something is deleted or sent. The cancel button has the initial focus. */
export function ConfirmDialog({ opened, onClose, title, children, typed, ...rest }: ConfirmDialogProps) {
  return (
    <Dialog opened={opened} onClose={onClose} title={title} size="md">
      <Stack>
        <Text component="div" size="sm">
          {children}
        </Text>
        <Answer key={String(opened)} onClose={onClose} typed={typed} {...rest} />
      </Stack>
    </Dialog>
  );
}

type AnswerProps = Omit<ConfirmDialogProps, 'opened' | 'title' | 'children'>;

function Answer({ onClose, action, onConfirm, busy = false, kind = 'danger', typed }: AnswerProps) {
  const { t } = useTranslation('ui');
  const [text, setText] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onConfirm();
      }}
    >
      <Stack>
        {typed !== undefined && (
          <TextInput
            label={t('confirm.type', { typed })}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            autoComplete="off"
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t('cancel')}
          </Button>
          <Button
            type="submit"
            loading={busy}
            disabled={typed !== undefined && text.trim() !== typed}
            {...(kind === 'danger' && { color: 'red' })}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
