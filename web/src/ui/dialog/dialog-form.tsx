import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

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
