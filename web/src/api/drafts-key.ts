/** Prefix of the keys of drafts in the browser's storage. */
export const DRAFTS_KEY = 'heliograph-draft:';

/** Forgets all drafts of this browser: others may use it after the user has signed out. */
export function forgetDrafts(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFTS_KEY)) localStorage.removeItem(key);
}
