import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../../api/client.ts';
import { ApiError, type FieldFault } from '../../api/errors.ts';
import { useProblemText } from '../../api/problem-text.ts';
import { notify } from '../../api/notify.ts';
import { refresh } from '../../api/refresh.ts';
import { choice, useUrlState } from '../../ui/url-state.ts';
import { type Campaign, CAMPAIGNS, CAMPAIGN } from '../campaign.ts';
import { type Draft, missingOf, placeOf, groupFaults, type StepId, STEPS, toBody } from './draft.ts';
import { type Place, useAutosave } from './saving/use-autosave.ts';

const FIELDS = { step: choice(STEPS, 'channels') };

export type EditorInput = {
  readonly initial: Draft;
  readonly place: Place;
  /** True if `initial` contains changes that the server does not have. */
  readonly isUnsaved: boolean;
  /** The campaign that is changed, if it is scheduled already: it stays as it is until the changes are applied. */
  readonly scheduled: Campaign | null;
  /** Called when the editor holds another campaign (0: none) or another draft ('': none) than the address states. */
  readonly onMove: (id: number, draft: string) => void;
};

/** The state of the editor: the form, the open step, and saving. */
export function useEditor({ initial, place, isUnsaved, scheduled, onMove }: EditorInput) {
  const { t } = useTranslation('campaigns');
  const campaignId = useRef(place.campaignId);
  const saving = useAutosave(place, (id) => onMove(campaignId.current, id));
  const form = useForm<Draft>({ initialValues: initial, onValuesChange: (values) => saving.change(values) });
  const [{ step }, setSearch] = useUrlState(FIELDS);
  const [visited, setVisited] = useState<ReadonlySet<StepId>>(new Set([step]));
  const goTo = (next: StepId): void => {
    setVisited((before) => new Set([...before, step, next]));
    setSearch({ step: next });
  };
  const send = useSave();
  const fail = useFailure(form.setErrors, goTo);
  useKeepUnsaved(isUnsaved, () => saving.change(form.getValues()));

  /**
   * Makes a campaign of the form, or changes it, and returns it; null if something is missing or rejected, in which
   * case the fields show the errors.
   */
  async function save(): Promise<Campaign | null> {
    const draft = form.getValues();
    const missing = missingOf(draft, new Date(), (key) => t(`fault.${key}`));
    if (Object.keys(missing).length > 0) return fail.missing(missing);
    try {
      const campaign = await send(campaignId.current, draft);
      campaignId.current = campaign.id;
      form.clearErrors();
      await saving.settle(campaign.id);
      onMove(campaign.id, '');
      // Anything typed meanwhile is a change to the campaign.
      if (JSON.stringify(form.getValues()) !== JSON.stringify(draft)) saving.change(form.getValues());
      return campaign;
    } catch (error) {
      return fail.refused(error);
    }
  }
  return { form, step, goTo, visited, save, saving, scheduled, refused: fail.refused };
}

export type EditorState = ReturnType<typeof useEditor>;
export type DraftForm = EditorState['form'];

/** Sends earlier changes that this browser has kept and the server does not have, once. */
function useKeepUnsaved(isUnsaved: boolean, change: () => void): void {
  const isDone = useRef(false);
  useEffect(() => {
    if (isUnsaved && !isDone.current) change();
    isDone.current = true;
  });
}

/** Returns a function that creates a campaign (id 0) or changes it. */
function useSave() {
  const queries = useQueryClient();
  return async (id: number, draft: Draft): Promise<Campaign> => {
    const body = toBody(draft, false);
    const campaign =
      id === 0
        ? await ok(api.POST(CAMPAIGNS, { body }))
        : await ok(api.PUT(CAMPAIGN, { params: { path: { id } }, body }));
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
    return Object.keys(byField).length > 0 ? missing(byField) : null;
  };
  return { missing, refused };
}

const sentence = ({ field, message }: FieldFault): string => `${field}: ${message}`;
