import { useForm } from '@mantine/form';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { followConnection, isReachable } from '../api/monitor.ts';
import { notify } from '../api/notify.ts';
import { useProblemText } from '../api/passkey.ts';
import { refresh } from '../api/refresh.ts';
import { ApiError, api, type FieldFault, ok } from '../api/send.ts';
import { choice, useUrlState } from '../ui/url-state.ts';
import { CAMPAIGN, CAMPAIGNS, type Campaign } from './campaign.ts';
import { type Draft, groupFaults, missingOf, placeOf, STEPS, type StepId, toBody } from './draft.ts';
import { deleteDraft, dropCopy, keepCopy, saveDraft, useOwner } from './local-copy.ts';

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

/**
 * `saved`: the server has everything. `waiting`: the server cannot be reached or returns an error; it is tried again.
 * `conflict`: another user has changed the draft. `gone`: a user has deleted it, or the campaign has another draft.
 */
export type SaveState = 'new' | 'saved' | 'saving' | 'waiting' | 'conflict' | 'gone';

type Options = {
  /** The version that the server has; 0: none. */
  readonly version: number;
  /** Saves a draft over a version and returns the new version. */
  readonly save: (draft: Draft, version: number) => Promise<number>;
  /** Keeps a copy in the browser until the server has it. */
  readonly keep: (draft: Draft, version: number) => void;
  /** Called when the server has everything. */
  readonly drop: () => void;
  readonly onState: (state: SaveState) => void;
};

const PAUSE_MS = 700;
const AGAIN_MS = 4000;

/**
 * Saves a draft while it is typed: a moment after the last change, one request at a time, and again until the server
 * has it. Every change is kept in the browser immediately.
 */
export function createAutosave({ version: known, save, keep, drop, onState }: Options) {
  let version = known;
  let waiting: Draft | null = null;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let running: Promise<void> | null = null;
  let isStopped = false;

  const plan = (ms: number): void => {
    clearTimeout(timer);
    if (!isStopped) timer = setTimeout(() => void run(), ms);
  };

  async function saveOnce(draft: Draft): Promise<boolean> {
    try {
      version = await save(draft, version);
      if (waiting === draft) waiting = null;
      if (waiting === null) drop();
      onState(waiting === null ? 'saved' : 'saving');
      return true;
    } catch (error) {
      onState(stateAfter(error));
      if (stateAfter(error) === 'waiting') plan(AGAIN_MS);
      return false;
    }
  }

  /** Saves until there is nothing left, or it fails. */
  function run(): Promise<void> {
    clearTimeout(timer);
    running ??= (async () => {
      while (waiting !== null && !isStopped) {
        onState('saving');
        if (!(await saveOnce(waiting))) break;
      }
    })().finally(() => {
      running = null;
    });
    return running;
  }

  return {
    change(draft: Draft): void {
      waiting = draft;
      keep(draft, version);
      plan(PAUSE_MS);
    },
    /** Saves waiting changes immediately: before the page is left, or when the network is back. */
    flush: run,
    /** Overwrites the version of another user. */
    overwrite(current: number): Promise<void> {
      version = current;
      return run();
    },
    /** Returns true if the server does not have everything. */
    isOpen: (): boolean => waiting !== null,
    /** Ends it: saves under way are completed, and nothing more is saved. */
    async stop(): Promise<void> {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
    /** The version that the server has; 0: none. */
    version: (): number => version,
  };
}

type Autosave = ReturnType<typeof createAutosave>;

function stateAfter(error: unknown): SaveState {
  const status = error instanceof ApiError ? error.status : 0;
  if (status === 409) return 'conflict';
  return status === 404 ? 'gone' : 'waiting';
}

/** Place of a draft: its id, the server's version of it (0: none), and its campaign (0: none). */
export type Place = { readonly id: string; readonly version: number; readonly campaignId: number };

/** Saves still under way of editors that were left. */
const leaving = new Set<Promise<unknown>>();

function leave(saving: Autosave): void {
  const last = Promise.all([saving.flush(), saving.stop()]).finally(() => leaving.delete(last));
  leaving.add(last);
}

/** Resolves when editors that were left have saved their changes, or have failed to. */
export const untilLeft = (): Promise<unknown> => Promise.allSettled(leaving);

/** Saves the draft of the editor while it is typed. `onBegun` is called with its id at the first change of a new one. */
function useAutosave(place: Place, onBegun: (id: string) => void) {
  const owner = useOwner();
  const queries = useQueryClient();
  const [state, setState] = useState<SaveState>(place.version === 0 ? 'new' : 'saved');
  const [isKept, setIsKept] = useState(true);
  const current = useRef<{ readonly place: Place; readonly saving: Autosave } | null>(null);
  const start = (at: Place) => {
    const saving = createAutosave({
      version: at.version,
      async save(draft, version) {
        // Not held for later, as other changes are: by then there is a newer text, and this browser has a copy.
        if (!isReachable()) throw new Error('The server cannot be reached');
        const next = await saveDraft({ id: at.id, version, campaignId: at.campaignId, draft });
        void refresh(queries, ['campaign-drafts']);
        return next;
      },
      keep: (draft, version) =>
        setIsKept(keepCopy(owner, at.id, { version, campaignId: at.campaignId, content: { ...draft } })),
      drop: () => dropCopy(owner, at.id),
      onState: setState,
    });
    return { place: at, saving };
  };
  const now = () => (current.current ??= start(place));

  useEffect(() => {
    const hurry = (): void => void current.current?.saving.flush();
    const hide = (): void => {
      if (document.visibilityState === 'hidden') hurry();
    };
    let wasReachable = isReachable();
    const forget = followConnection(() => {
      if (isReachable() && !wasReachable) hurry();
      wasReachable = isReachable();
    });
    document.addEventListener('visibilitychange', hide);
    return () => {
      forget();
      document.removeEventListener('visibilitychange', hide);
      // The page is left by a link: one more request goes out, and the copy stays until its response.
      if (current.current) leave(current.current.saving);
    };
  }, []);

  return {
    state,
    /** False when leaving the page would lose changes that the server does not have. */
    isKept: isKept || state === 'saved',
    change(draft: Draft): void {
      const { place: at, saving } = now();
      if (!saving.isOpen() && saving.version() === 0) onBegun(at.id);
      saving.change(draft);
    },
    flush: (): Promise<void> => now().saving.flush(),
    overwrite: (version: number): Promise<void> => now().saving.overwrite(version),
    /** Discards changes that the server does not have, because another user's version is to be used. */
    forget(): void {
      const { place: at, saving } = now();
      void saving.stop();
      dropCopy(owner, at.id);
    },
    /** Returns the place of the draft. */
    place: (): Place => now().place,
    /** Removes the stored draft, because the campaign has its content now; later input is kept as changes to it. */
    async settle(campaignId: number): Promise<void> {
      const { place: before, saving } = now();
      await saving.stop();
      current.current = start({ id: crypto.randomUUID(), version: 0, campaignId });
      dropCopy(owner, before.id);
      setState('new');
      // A draft that stays behind is harmless: its content is that of the campaign.
      if (saving.version() > 0) await deleteDraft(before.id).catch(() => undefined);
      void refresh(queries, ['campaign-drafts']);
    },
  };
}

export type SavingState = ReturnType<typeof useAutosave>;
