import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import type { DialogProps } from './dialog-props.ts';

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

type DialogButtonsProps = {
  readonly onClose: () => void;
  /** The label of the submit button: "Add". */
  readonly action: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** `danger` for destructive actions, `normal` (default) for others. */
  readonly kind?: 'normal' | 'danger';
};

type DialogFormProps = DialogButtonsProps & {
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  /** True if field validation is left to the form and the server rather than the browser. */
  readonly noValidate?: boolean;
  /** The fields. */
  readonly children: ReactNode;
};

/** A form in a dialog: its fields, then the cancel and submit buttons. */
export function DialogForm({ onSubmit, noValidate = false, children, ...answer }: DialogFormProps) {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit(event);
  };
  return (
    <form onSubmit={submit} noValidate={noValidate}>
      <Stack>
        {children}
        <DialogButtons {...answer} />
      </Stack>
    </form>
  );
}

/** The cancel and action buttons of a dialog. Without `onConfirm`, the action button submits the surrounding form. */
export function DialogButtons({
  onClose,
  action,
  onConfirm,
  busy,
  disabled = false,
  kind = 'normal',
}: DialogButtonsProps & { readonly onConfirm?: () => void }) {
  const { t } = useTranslation('ui');
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t('cancel')}
      </Button>
      <Button
        {...(onConfirm === undefined ? { type: 'submit' } : { onClick: () => onConfirm() })}
        loading={busy}
        disabled={disabled}
        {...(kind === 'danger' && { color: 'red' })}
      >
        {action}
      </Button>
    </Group>
  );
}

/** Dialogs are 20 kB that no page needs at first, so they are loaded with the first one that opens. */
const LazyModal = lazyPart(() => import('./dialog-parts.tsx').then(({ CenterDialog }) => ({ default: CenterDialog })));
const LazyDrawer = lazyPart(() => import('./dialog-parts.tsx').then(({ SideDialog }) => ({ default: SideDialog })));

/** A centered dialog, full-screen on a phone. Closing it returns the focus to where it was. */
export const Dialog = (props: DialogProps) => <Opened {...props} with={LazyModal} />;

/** A panel on the right with the details of one item; the list behind it keeps its scroll position. */
export const SidePanel = (props: DialogProps) => <Opened {...props} with={LazyDrawer} />;

/**
 * Stays mounted after the first opening, so that closing is animated. Mantine remembers the focused element when a
 * mounted dialog opens, so the first time the dialog is mounted shortly before it opens.
 */
function Opened({ with: Parts, opened, ...props }: DialogProps & { readonly with: typeof LazyModal }) {
  const [wasOpened, setWasOpened] = useState(opened);
  const [isThere, setIsThere] = useState(false);
  if (opened && !wasOpened) setWasOpened(true);
  return wasOpened ? (
    <Suspense>
      <Parts {...props} opened={opened && isThere} />
      <MountSignal onArrive={setIsThere} />
    </Suspense>
  ) : null;
}

/** Reports when it is mounted, together with its siblings. */
function MountSignal({ onArrive }: { readonly onArrive: (isThere: true) => void }) {
  useEffect(() => onArrive(true), [onArrive]);
  return null;
}
