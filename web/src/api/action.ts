import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { notify } from './notify.ts';
import { useProblemText } from './passkey.ts';
import { refresh } from './refresh.ts';
import { ApiError, type FieldFault, isSignedOut } from './send.ts';

type ActionOptions<I, O> = {
  /** The request, for example `ok(api.POST(…))`. */
  readonly run: (input: I) => Promise<O>;
  /** The success notification; no notification without it. */
  readonly done?: string | ((output: O, input: I) => string);
  /** The queries to refetch afterwards, by the first parts of their keys. */
  readonly refresh?: readonly QueryKey[];
  /** The form that shows the server's field errors; other errors are shown in a notification. */
  readonly form?: AnyForm;
  readonly onDone?: (output: O, input: I) => void;
  /** True: the caller shows errors itself, so there is no error notification. */
  readonly quiet?: boolean;
  /** True: a 401 response means wrong credentials, not the end of the session. */
  readonly signsIn?: boolean;
};

/**
 * An action of the user: runs one at a time, shows a notification when it is done or has failed, and refetches
 * queries. The button has `loading={action.busy}`. `error` stays until the next `run`.
 */
export function useAction<I = void, O = unknown>(options: ActionOptions<I, O>) {
  const queries = useQueryClient();
  const { t } = useTranslation('ui');
  const problemText = useProblemText();
  const mutation = useMutation<O, unknown, I>({
    mutationFn: options.run,
    meta: { signsIn: options.signsIn === true },
    async onSuccess(output, input) {
      await Promise.all((options.refresh ?? []).map((queryKey) => refresh(queries, queryKey)));
      const message = typeof options.done === 'function' ? options.done(output, input) : options.done;
      if (message !== undefined) void notify({ message: message, tone: 'good', closeLabel: t('close') });
      options.onDone?.(output, input);
    },
    onError(error) {
      const isTaken = options.form !== undefined && setFieldErrors(options.form, error);
      if (isTaken || options.quiet || isSignedOut(error)) return;
      void notify({ message: problemText(error), tone: 'bad', closeLabel: t('close') });
    },
  });
  return {
    run: mutation.mutate,
    runAsync: mutation.mutateAsync,
    busy: mutation.isPending,
    error: mutation.error,
    /** The result of the last run. */
    result: mutation.data,
    reset: mutation.reset,
  };
}

/** The part of a @mantine/form form that errors need. */
type AnyForm = {
  setErrors(errors: Record<string, string>): void;
  getValues(): Record<string, unknown>;
};

/** The field path in the notation of @mantine/form, which has a dot and no brackets around an index. */
const pathOf = (field: string): string => field.replaceAll(/\[(\d+)\]/g, '.$1');

/**
 * The form field that shows an error of this field: the field itself or its nearest ancestor; undefined if there is
 * none.
 */
function nearestField(values: Record<string, unknown>, field: string): string | undefined {
  const path = pathOf(field);
  const top = path.split('.', 1)[0] ?? '';
  if (!(top in values)) return undefined;
  return typeof values[top] === 'object' && values[top] !== null && !Array.isArray(values[top]) ? path : top;
}

/**
 * Shows the server's field errors at the fields of a form. Returns true if every error found its field, so that
 * nothing else needs to be shown.
 */
function setFieldErrors(form: AnyForm, error: unknown): boolean {
  if (!(error instanceof ApiError) || error.details.length === 0) return false;
  const values = form.getValues();
  const owned = error.details.map((fault): [string | undefined, FieldFault] => [
    nearestField(values, fault.field),
    fault,
  ]);
  const errors: Record<string, string> = {};
  for (const [owner, { message }] of owned) {
    if (owner !== undefined) errors[owner] = errors[owner] ? `${errors[owner]}; ${message}` : message;
  }
  form.setErrors(errors);
  return owned.every(([owner]) => owner !== undefined);
}
