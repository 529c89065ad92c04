import { Button, Drawer, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { type ConfirmDialogProps, type DialogProps, type Question, useDialog } from './lazy-props.ts';
import { useIsPhone } from './parts.tsx';

const STYLES = {
  header: { background: 'var(--panel)' },
  title: { fontWeight: 600, lineHeight: 1.35, overflowWrap: 'anywhere' },
} as const;

/** Above Mantine's modals (200) and below its pop-ups (300), which dialogs contain. */
const ON_TOP = 250;

/** The props that modal and drawer share. */
function usePartProps({ size = 'lg', locked = false, onTop = false, ...props }: DialogProps) {
  const { opened, close } = useDialog();
  const { t } = useTranslation('ui');
  return {
    ...props,
    opened,
    onClose: close,
    ...(onTop && { zIndex: ON_TOP }),
    size,
    closeOnClickOutside: !locked,
    closeOnEscape: !locked,
    withCloseButton: !locked,
    closeButtonProps: { 'aria-label': t('close') },
    styles: STYLES,
  };
}

/** The modal of `Dialog`, loaded on demand. */
export function CenterDialog(props: DialogProps) {
  const isPhone = useIsPhone();
  return <Modal {...usePartProps(props)} fullScreen={isPhone} />;
}

/** The drawer of `SidePanel`, loaded on demand. */
export const SideDialog = (props: DialogProps) => <Drawer {...usePartProps(props)} position="right" />;

/** The dialog of `confirm`. */
export function QuestionDialog<O>({ title, text, action, kind, typed, onDone, ...options }: Question<O>) {
  const { close } = useDialog();
  const answer = useAction<void, O>({
    ...options,
    onDone() {
      close();
      onDone?.();
    },
  });
  return (
    <ConfirmDialog
      title={title}
      action={action}
      busy={answer.busy}
      onConfirm={() => answer.run()}
      kind={kind}
      typed={typed}
    >
      {text}
    </ConfirmDialog>
  );
}

/** A question with a cancel button and one that confirms. */
export function ConfirmDialog({ title, children, ...rest }: ConfirmDialogProps) {
  return (
    <CenterDialog title={title} size="md">
      <Stack>
        <Text component="div" size="sm">
          {children}
        </Text>
        <Answer {...rest} />
      </Stack>
    </CenterDialog>
  );
}

type AnswerProps = Omit<ConfirmDialogProps, 'title' | 'children'>;

function Answer({ action, onConfirm, busy = false, kind = 'danger', typed }: AnswerProps) {
  const { t } = useTranslation('ui');
  const { close } = useDialog();
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
          <Button variant="default" onClick={close} data-autofocus>
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
