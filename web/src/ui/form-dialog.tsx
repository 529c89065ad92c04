import { Button, Group, Stack } from '@mantine/core';
import { type FormValidateInput, type UseFormReturnType, useForm } from '@mantine/form';
import type { QueryKey } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { Dialog } from './dialog.tsx';
import { useDialog } from './lazy-props.ts';

type Kind = 'normal' | 'danger';

type FormProps<V, O> = {
  /** The initial values. The server's errors are shown at the fields that have a value here. */
  readonly values: V;
  readonly validate?: FormValidateInput<V>;
  /** The request. */
  readonly run: (values: V) => Promise<O>;
  /** The queries to refetch afterwards. */
  readonly refresh?: readonly QueryKey[];
  /** The success notification. */
  readonly done?: string | ((output: O, values: V) => string);
  /** Called when the dialog closes after the request. */
  readonly onDone?: (output: O, values: V) => void;
  /** Content that replaces the form after the request, such as a secret that is shown once; null closes the dialog. */
  readonly result?: (output: O, values: V) => ReactNode;
  /** The label of a button below `result`. With it, nothing else closes the dialog. */
  readonly finish?: string;
  /** The label of the submit button: "Add". */
  readonly action: string | ((values: V) => string);
  /** `danger` for destructive actions, `normal` (default) for others. */
  readonly kind?: Kind | ((values: V) => Kind);
  /** Returns true if these values cannot be submitted. */
  readonly isDisabled?: (values: V) => boolean;
  /** True if the fields show every error; there is no notification then. */
  readonly quiet?: boolean;
  /** True if field validation is left to the form and the server instead of the browser. */
  readonly noValidate?: boolean;
  /** The fields. `error` is that of the last request, `output` the result of the last one that succeeded. */
  readonly children: (form: UseFormReturnType<V>, last: Last<O>) => ReactNode;
};

type Last<O> = { readonly error: unknown; readonly output: O | undefined };

type FormDialogProps<V, O> = FormProps<V, O> & {
  readonly title: string;
  readonly size?: string;
  /** True if the dialog stays open after the request. */
  readonly stays?: boolean;
};

/** A form in a dialog that `openDialog` opens: its fields, then the cancel and submit buttons. */
export function FormDialog<V extends object, O>({ title, size, ...form }: FormDialogProps<V, O>) {
  const [isLocked, setLocked] = useState(false);
  return (
    <Dialog title={title} size={size} locked={isLocked}>
      <Form {...form} onResult={setLocked} />
    </Dialog>
  );
}

/** Apart from the dialog, so that its values and its result are gone when that is closed. */
function Form<V extends object, O>({
  values,
  validate,
  result,
  finish,
  children,
  onDone,
  onResult,
  stays = false,
  noValidate = false,
  isDisabled,
  action,
  kind,
  ...options
}: FormProps<V, O> & { readonly onResult: (isLocked: boolean) => void; readonly stays?: boolean }) {
  const { close } = useDialog();
  const form = useForm<V>({ initialValues: values, validate });
  const finishWith = (output: O, input: V): void => {
    close();
    onDone?.(output, input);
  };
  const submit = useAction<V, O>({
    ...options,
    form: form as { setErrors: typeof form.setErrors; getValues(): Record<string, unknown> },
    onDone(output, input) {
      if (result?.(output, input)) onResult(finish !== undefined);
      else if (!stays) finishWith(output, input);
    },
  });
  const filled = form.getValues();
  const output = submit.result;
  const shown = output !== undefined && result?.(output, filled);
  if (shown)
    return (
      <Stack>
        {shown}
        {finish !== undefined && (
          <Group justify="flex-end">
            <Button onClick={() => finishWith(output, filled)}>{finish}</Button>
          </Group>
        )}
      </Stack>
    );
  return (
    <form onSubmit={form.onSubmit((checked) => submit.run(checked))} noValidate={noValidate}>
      <Stack>
        {children(form, { error: submit.error, output })}
        <DialogButtons
          onClose={close}
          action={typeof action === 'function' ? action(filled) : action}
          busy={submit.busy}
          disabled={isDisabled?.(filled) ?? false}
          kind={typeof kind === 'function' ? kind(filled) : kind}
        />
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
  readonly kind?: Kind | undefined;
};

/** The cancel and submit buttons of a form in a dialog. */
export function DialogButtons({ onClose, action, busy, disabled = false, kind = 'normal' }: DialogButtonsProps) {
  const { t } = useTranslation('ui');
  return (
    <Group justify="flex-end">
      <Button variant="default" onClick={onClose}>
        {t('cancel')}
      </Button>
      <Button type="submit" loading={busy} disabled={disabled} {...(kind === 'danger' && { color: 'red' })}>
        {action}
      </Button>
    </Group>
  );
}
