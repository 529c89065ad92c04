import { useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { ApiError } from '../api/errors.ts';
import { templateQuery } from '../api/networks.ts';
import { useProblemText } from '../api/problem-text.ts';
import { type Channel, type Draft, emptyDraft, enabledFallbacksOf, isNetwork } from './draft.ts';
import { missingOf, groupFaults } from './faults.ts';
import { type Outcome, send } from './message.ts';

/** A message sent from this page since it was opened. */
export type Sent = {
  readonly messageId: string;
  readonly channel: Channel;
  readonly destination: string;
  /** True if a fallback message may follow. */
  readonly hasFallback: boolean;
};

/** The state of the page: the form, its errors, and the messages sent. */
export function useSend(channel: Channel, initialNumber: string) {
  const { t } = useTranslation('send');
  const problemText = useProblemText();
  const form = useForm<Draft>({ initialValues: emptyDraft(initialNumber) });
  const template = useTemplate(channel, form.values);
  const [sent, setSent] = useState<readonly Sent[]>([]);
  /** Errors without a field, as sentences. */
  const [refusals, setRefusals] = useState<readonly string[]>([]);
  /** The number of failed attempts, so that each one moves the focus to its first error. */
  const [failures, setFailures] = useState(0);
  const sending = useAction({ run: (draft: Draft) => send(channel, draft), refresh: [['credit']], quiet: true });

  function fail(errors: Readonly<Record<string, string>>, others: readonly string[]): void {
    form.setErrors({ ...errors });
    setRefusals(others);
    setFailures((count) => count + 1);
  }

  function take(outcome: Outcome, draft: Draft): void {
    if (!outcome.accepted) return fail({}, outcome.reasons);
    const { messageId } = outcome;
    const hasFallback = enabledFallbacksOf(channel, draft).length > 0;
    setSent((before) => [{ messageId, channel, destination: draft.destination.trim(), hasFallback }, ...before]);
  }

  async function submit(): Promise<void> {
    const draft = form.getValues();
    const missing = missingOf(channel, draft, template);
    if (missing.length > 0) return fail(Object.fromEntries(missing.map((place) => [place, t('fault.missing')])), []);
    setRefusals([]);
    form.clearErrors();
    try {
      take(await sending.runAsync(draft), draft);
    } catch (error) {
      const faults = error instanceof ApiError ? error.details : [];
      const { errors, others } = groupFaults(channel, faults);
      const said = others.map(({ field, message }) => `${field}: ${message}`);
      fail(errors, faults.length > 0 ? said : [problemText(error)]);
    }
  }
  return { form, template, submit, busy: sending.busy, sent, refusals, failures, forget: () => setRefusals([]) };
}

export type SendState = ReturnType<typeof useSend>;

function useTemplate(channel: Channel, draft: Draft) {
  const network = isNetwork(channel) ? channel : 'RCS';
  const { data } = useQuery({ ...templateQuery(network), enabled: isNetwork(channel) });
  return isNetwork(channel) ? data?.find(({ value }) => value === draft[network].templateId) : undefined;
}
