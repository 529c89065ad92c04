import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { refresh } from '../../../api/refresh.ts';
import { followConnection, isReachable } from '../../../api/connection/monitor.ts';
import type { Draft } from '../draft.ts';
import { type Autosave, createAutosave, type SaveState } from './autosave.ts';
import { dropCopy, keepCopy } from './local-copy.ts';
import { deleteDraft, saveDraft } from './stored-draft.ts';
import { useOwner } from './use-owner.ts';

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
export function useAutosave(place: Place, onBegun: (id: string) => void) {
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
