import { createContext, use, useCallback, useSyncExternalStore } from 'react';
import { DRAFTS_KEY } from '../api/drafts-key.ts';
import type { Media } from '../api/media.ts';

/** An unsent reply; files are sent without text. */
export type Draft = { readonly text: string; readonly media: Media | null };

const EMPTY: Draft = { text: '', media: null };

/**
 * Creates the store of drafts by conversation. They are kept in this browser, under the user and the account, until they are
 * sent or the user signs out.
 */
export function createDrafts(owner: string) {
  const drafts = new Map<string, Draft>();
  const listeners = new Set<() => void>();
  const keyOf = (chatId: string): string => `${DRAFTS_KEY}${owner}:${chatId}`;
  return {
    get(chatId: string): Draft {
      const draft = drafts.get(chatId) ?? readDraft(keyOf(chatId));
      drafts.set(chatId, draft);
      return draft;
    },
    set(chatId: string, patch: Partial<Draft>): void {
      const draft = { ...this.get(chatId), ...patch };
      drafts.set(chatId, draft);
      writeDraft(keyOf(chatId), draft);
      for (const tell of listeners) tell();
    },
    listen(tell: () => void): () => void {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

function readDraft(key: string): Draft {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(key) ?? 'null');
    return isDraft(stored) ? stored : EMPTY;
  } catch {
    return EMPTY;
  }
}

const isDraft = (stored: unknown): stored is Draft =>
  typeof stored === 'object' && stored !== null && typeof Reflect.get(stored, 'text') === 'string';

/** Stores a draft. In a full or forbidden storage, it does not survive a reload. */
function writeDraft(key: string, draft: Draft): void {
  try {
    if (draft.text === '' && draft.media === null) localStorage.removeItem(key);
    else localStorage.setItem(key, JSON.stringify(draft));
  } catch {
    return;
  }
}

export const DraftsContext = createContext(createDrafts(''));

/** The draft of one conversation and its setter. */
export function useDraft(chatId: string) {
  const drafts = use(DraftsContext);
  const draft = useSyncExternalStore(drafts.listen, () => drafts.get(chatId));
  const change = useCallback((patch: Partial<Draft>): void => drafts.set(chatId, patch), [drafts, chatId]);
  return [draft, change] as const;
}
