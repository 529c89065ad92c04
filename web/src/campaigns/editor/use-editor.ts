import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ApiError, type FieldFault } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { tell } from '../../api/tell.ts';
import { choice, useUrlState } from '../../ui/url-state.ts';
import { type Campaign, CAMPAIGNS, ONE } from '../campaign.ts';
import { type Draft, missingOf, placeOf, sortFaults, type StepId, STEPS, toBody } from './draft.ts';

const FIELDS = { step: choice(STEPS, 'channels') };

export type EditorInput = {
  readonly initial: Draft;
  /** 0: not saved yet. */
  readonly id: number;
  readonly onMade?: (id: number) => void;
};

/** The form of a campaign, the step that is open, and how it is saved. */
export function useEditor({ initial, id, onMade }: EditorInput) {
  const { t } = useTranslation('campaigns');
  const form = useForm<Draft>({ initialValues: initial });
  const [{ step }, setSearch] = useUrlState(FIELDS);
  const goTo = (next: StepId): void => setSearch({ step: next });
  const send = useSend(id, onMade);
  const fail = useFailure(form.setErrors, goTo);
  const [saving, setSaving] = useState(false);

  /** The campaign as it is saved now; null when something is missing or refused, which its fields say then. */
  async function save(): Promise<Campaign | null> {
    const draft = form.getValues();
    const missing = missingOf(draft, new Date(), (key) => t(`fault.${key}`));
    if (Object.keys(missing).length > 0) return fail.missing(missing);
    setSaving(true);
    try {
      const campaign = await send(draft);
      form.resetDirty(draft);
      form.clearErrors();
      return campaign;
    } catch (error) {
      return fail.refused(error);
    } finally {
      setSaving(false);
    }
  }
  return { form, step, goTo, save, saving, id, isSaved: id !== 0 && !form.isDirty() };
}

export type EditorState = ReturnType<typeof useEditor>;
export type DraftForm = EditorState['form'];

/** Makes the campaign with the first saving, changes it with those after. */
function useSend(id: number, onMade: ((id: number) => void) | undefined) {
  const queries = useQueryClient();
  const known = useRef(id);
  return async (draft: Draft): Promise<Campaign> => {
    const body = toBody(draft, false);
    const isNew = known.current === 0;
    const campaign = isNew
      ? await ok(api.POST(CAMPAIGNS, { body }))
      : await ok(api.PUT(ONE, { params: { path: { id: known.current } }, body }));
    known.current = campaign.id;
    if (isNew) onMade?.(campaign.id);
    void queries.invalidateQueries({ queryKey: ['campaigns'] });
    void queries.invalidateQueries({ queryKey: ['campaign', campaign.id] });
    return campaign;
  };
}

/** Shows faults at their fields, opens the first step that has one, and tells the rest. */
function useFailure(setErrors: (faults: Record<string, string>) => void, goTo: (step: StepId) => void) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const say = (message: string): void => void tell({ message, tone: 'bad', closeLabel: t('ui:close') });
  const missing = (faults: Record<string, string>): null => {
    setErrors(faults);
    const steps = Object.keys(faults).map((field) => placeOf(field)?.[1]);
    const first = STEPS.find((step) => steps.includes(step));
    if (first !== undefined) goTo(first);
    return null;
  };
  const refused = (error: unknown): null => {
    if (!(error instanceof ApiError) || error.details.length === 0) {
      say(problemText(error));
      return null;
    }
    const { byField, rest } = sortFaults(error.details);
    if (rest.length > 0) say(rest.map(sentence).join('; '));
    return missing(byField);
  };
  return { missing, refused };
}

const sentence = ({ field, message }: FieldFault): string => `${field}: ${message}`;
