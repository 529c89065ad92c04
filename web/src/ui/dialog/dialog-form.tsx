import { Button, Group, Stack } from '@mantine/core';
import type { FormEvent, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

type AnswerProps = {
  readonly onClose: () => void;
  /** The verb on the button: "Add". */
  readonly action: string;
  readonly busy: boolean;
  readonly disabled?: boolean;
  /** `danger` destroys something; `normal` (default) does not. */
  readonly kind?: 'normal' | 'danger';
};

type DialogFormProps = AnswerProps & {
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void;
  /** Leaves faults of single fields to the form and the server, not to the browser. */
  readonly noValidate?: boolean;
  /** The fields. */
  readonly children: ReactNode;
};

/** What a dialog asks for, below one another, and its two ways out. */
export function DialogForm({ onSubmit, noValidate = false, children, ...answer }: DialogFormProps) {
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    onSubmit(event);
  };
  return (
    <form onSubmit={submit} noValidate={noValidate}>
      <Stack>
        {children}
        <DialogAnswer {...answer} />
      </Stack>
    </form>
  );
}

/** The two ways out of a dialog. Without `onConfirm` the second sends the form around it. */
export function DialogAnswer({
  onClose,
  action,
  onConfirm,
  busy,
  disabled = false,
  kind = 'normal',
}: AnswerProps & { readonly onConfirm?: () => void }) {
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
