import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ApiError, type FieldFault } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { notify } from '../../api/notify.ts';
import { refresh } from '../../api/refresh.ts';
import { choice, useUrlState } from '../../ui/url-state.ts';
import { type Campaign, CAMPAIGNS, CAMPAIGN } from '../campaign.ts';
import { type Draft, missingOf, placeOf, groupFaults, type StepId, STEPS, toBody } from './draft.ts';

const FIELDS = { step: choice(STEPS, 'channels') };

export type EditorInput = {
  readonly initial: Draft;
  /** 0 if the campaign is not saved yet. */
  readonly id: number;
  readonly onCreated?: (id: number) => void;
};

/** The state of the editor: the form, the open step, and saving. */
export function useEditor({ initial, id, onCreated }: EditorInput) {
  const { t } = useTranslation('campaigns');
  const form = useForm<Draft>({ initialValues: initial });
  const [{ step }, setSearch] = useUrlState(FIELDS);
  const goTo = (next: StepId): void => setSearch({ step: next });
  const send = useSave(id, onCreated);
  const fail = useFailure(form.setErrors, goTo);
  const [saving, setSaving] = useState(false);

  /**
   * Saves the campaign and returns it; null if something is missing or rejected, in which case the fields show the
   * errors.
   */
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

/** Returns a function that creates the campaign on the first save and changes it afterwards. */
function useSave(id: number, onCreated: ((id: number) => void) | undefined) {
  const queries = useQueryClient();
  const known = useRef(id);
  return async (draft: Draft): Promise<Campaign> => {
    const body = toBody(draft, false);
    const isNew = known.current === 0;
    const campaign = isNew
      ? await ok(api.POST(CAMPAIGNS, { body }))
      : await ok(api.PUT(CAMPAIGN, { params: { path: { id: known.current } }, body }));
    known.current = campaign.id;
    if (isNew) onCreated?.(campaign.id);
    void refresh(queries, ['campaigns']);
    void refresh(queries, ['campaign', campaign.id]);
    return campaign;
  };
}

/** Shows errors at their fields, opens the first step that has one, and shows the rest in a notification. */
function useFailure(setErrors: (faults: Record<string, string>) => void, goTo: (step: StepId) => void) {
  const { t } = useTranslation('campaigns');
  const problemText = useProblemText();
  const say = (message: string): void => void notify({ message, tone: 'bad', closeLabel: t('ui:close') });
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
    const { byField, rest } = groupFaults(error.details);
    if (rest.length > 0) say(rest.map(sentence).join('; '));
    return missing(byField);
  };
  return { missing, refused };
}

const sentence = ({ field, message }: FieldFault): string => `${field}: ${message}`;
