import { type QueryKey, useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { isSignedOut } from './errors.ts';
import { type AnyForm, takeFaults } from './form.ts';
import { useProblemText } from './problem-text.ts';
import { tell } from './tell.ts';

type ActionOptions<I, O> = {
  /** `ok(api.POST(…))`. */
  readonly run: (input: I) => Promise<O>;
  /** Said when it is done; nothing without it. */
  readonly done?: string | ((output: O, input: I) => string);
  /** What is fetched anew: the beginnings of query keys. */
  readonly refresh?: readonly QueryKey[];
  /** Takes the faults that the server names of its fields; the rest is told in a notification. */
  readonly form?: AnyForm;
  readonly onDone?: (output: O, input: I) => void;
  /** True: what failed is shown where it happened, so no notification is. */
  readonly quiet?: boolean;
  /** True: an answer of 401 means wrong credentials, not the end of the session. */
  readonly signsIn?: boolean;
};

/**
 * Something that a person does: run once at a time, told of when it is done or failed, lists fetched anew. The button
 * has `loading={action.busy}`. `error` stays until the next `run`.
 */
export function useAction<I = void, O = unknown>(options: ActionOptions<I, O>) {
  const queries = useQueryClient();
  const { t } = useTranslation('ui');
  const problemText = useProblemText();
  const mutation = useMutation<O, unknown, I>({
    mutationFn: options.run,
    meta: { signsIn: options.signsIn === true },
    async onSuccess(output, input) {
      await Promise.all((options.refresh ?? []).map((queryKey) => queries.invalidateQueries({ queryKey })));
      const said = typeof options.done === 'function' ? options.done(output, input) : options.done;
      if (said !== undefined) void tell({ message: said, tone: 'good', closeLabel: t('close') });
      options.onDone?.(output, input);
    },
    onError(error) {
      const isTaken = options.form !== undefined && takeFaults(options.form, error);
      if (isTaken || options.quiet || isSignedOut(error)) return;
      void tell({ message: problemText(error), tone: 'bad', closeLabel: t('close') });
    },
  });
  return {
    run: mutation.mutate,
    runAsync: mutation.mutateAsync,
    busy: mutation.isPending,
    error: mutation.error,
    /** What the last run answered. */
    made: mutation.data,
    reset: mutation.reset,
  };
}
