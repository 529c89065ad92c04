import { createContext, use, useCallback, useSyncExternalStore } from 'react';
import type { Media } from '../../api/media.ts';

/** An unsent reply; files are sent without text. */
export type Draft = { readonly text: string; readonly media: Media | null };

const EMPTY: Draft = { text: '', media: null };

/** Creates the store of drafts by conversation, kept while the inbox is open. */
export function createDrafts() {
  const drafts = new Map<string, Draft>();
  const listeners = new Set<() => void>();
  return {
    get: (chatId: string): Draft => drafts.get(chatId) ?? EMPTY,
    set(chatId: string, patch: Partial<Draft>): void {
      drafts.set(chatId, { ...(drafts.get(chatId) ?? EMPTY), ...patch });
      for (const tell of listeners) tell();
    },
    listen(tell: () => void): () => void {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
  };
}

export const DraftsContext = createContext(createDrafts());

/** The draft of one conversation and its setter. */
export function useDraft(chatId: string) {
  const drafts = use(DraftsContext);
  const draft = useSyncExternalStore(drafts.listen, () => drafts.get(chatId));
  const change = useCallback((patch: Partial<Draft>): void => drafts.set(chatId, patch), [drafts, chatId]);
  return [draft, change] as const;
}
