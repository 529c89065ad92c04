import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';

type ConfirmDialogProps = {
  readonly opened: boolean;
  readonly onClose: () => void;
  /** A question that names what it is about: "Revoke the key “Shop”?" */
  readonly title: string;
  /** What will happen, and what cannot be undone. */
  readonly children: ReactNode;
  /** The verb on the button: "Revoke". */
  readonly action: string;
  readonly onConfirm: () => void;
  readonly busy?: boolean;
  /** `danger` (default) destroys something; `normal` does not. */
  readonly kind?: 'danger' | 'normal';
  /** Must be typed first: for what would be hard to make good. */
  readonly typed?: string;
};

/** Asks before something is destroyed or sent. The focus is first on the way back. */
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
