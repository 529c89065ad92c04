/** Copy of a draft in this browser until the server has it: it survives a crash, a reload and a lost network. */
type LocalCopy = {
  /** The version on the server that it changes. */
  readonly version: number;
  readonly campaignId: number;
  readonly content: Readonly<Record<string, unknown>>;
};

/**
 * Returns the key of a copy. Copies are kept by user and account, so that no user sees another's input in the same
 * browser.
 */
const keyOf = (owner: string, id: string): string => `campaign-draft/${owner}/${id}`;

/** Keeps a copy. Returns false where the browser has no room or forbids it: then leaving the page would lose it. */
export function keepCopy(owner: string, id: string, copy: LocalCopy): boolean {
  try {
    localStorage.setItem(keyOf(owner, id), JSON.stringify(copy));
    return true;
  } catch {
    // Only this error shows that the browser's storage is full or switched off.
    return false;
  }
}

/** The copy of a draft that the server does not have yet; null without one. */
export function readCopy(owner: string, id: string): LocalCopy | null {
  try {
    const copy: unknown = JSON.parse(localStorage.getItem(keyOf(owner, id)) ?? 'null');
    return isCopy(copy) ? copy : null;
  } catch {
    // An unreadable copy is useless; the server's version counts.
    return null;
  }
}

export function dropCopy(owner: string, id: string): void {
  try {
    localStorage.removeItem(keyOf(owner, id));
  } catch {
    // Without storage there is no copy.
  }
}

/** A copy of a draft in this browser, as a list shows it. */
type CopyEntry = { readonly id: string; readonly name: string; readonly campaignId: number };

/** Lists the drafts that this browser keeps because the server did not have them yet. */
export function listCopies(owner: string): readonly CopyEntry[] {
  const start = keyOf(owner, '');
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(start))
      .flatMap((key) => {
        const id = key.slice(start.length);
        const copy = readCopy(owner, id);
        const name = copy?.content['name'];
        return copy ? [{ id, name: typeof name === 'string' ? name : '', campaignId: copy.campaignId }] : [];
      });
  } catch {
    // Without storage there are no copies.
    return [];
  }
}

const isCopy = (value: unknown): value is LocalCopy =>
  typeof value === 'object' &&
  value !== null &&
  'version' in value &&
  typeof value.version === 'number' &&
  'campaignId' in value &&
  typeof value.campaignId === 'number' &&
  'content' in value &&
  typeof value.content === 'object' &&
  value.content !== null;
