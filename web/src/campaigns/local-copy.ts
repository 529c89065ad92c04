import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import type { Draft } from './draft.ts';

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

const DRAFTS = '/api/partner-gateway/v1/campaign-drafts';
const DRAFT = `${DRAFTS}/{id}` as const;

/** The drafts of the account, or that of one campaign. */
export const listDrafts = (query: { readonly campaignId?: number }, signal?: AbortSignal) =>
  ok(api.GET(DRAFTS, { params: { query }, signal }));

export type DraftEntry = Awaited<ReturnType<typeof listDrafts>>[number];

export const findDraft = (id: string, signal?: AbortSignal) => ok(api.GET(DRAFT, { params: { path: { id } }, signal }));

type Saved = {
  readonly id: string;
  /** The version that this one replaces; 0: it is new. */
  readonly version: number;
  readonly campaignId: number;
  readonly draft: Draft;
};

/** Saves a draft and returns its new version. The same request again gets the same response. */
export async function saveDraft({ id, version, campaignId, draft }: Saved): Promise<number> {
  const body = {
    version,
    campaignId: campaignId || null,
    name: draft.name,
    content: { ...draft, onStatus: [...draft.onStatus] },
  };
  return (await ok(api.PUT(DRAFT, { params: { path: { id } }, body }))).version;
}

export const deleteDraft = (id: string) => ok(api.DELETE(DRAFT, { params: { path: { id } } }));

/**
 * Reads the stored draft: each value of the form whose type is right; the others come from `base`. So a draft of an
 * earlier version of the console can be read by a later one.
 */
export function readContent(content: Readonly<Record<string, unknown>>, base: Draft): Draft {
  const known = Object.entries(base).filter(([key, value]) => key in content && isAlike(key, content[key], value));
  return { ...base, ...Object.fromEntries(known.map(([key]) => [key, content[key]])) };
}

/** Values for a missing number in fields that may be empty. */
const MISSING: Readonly<Record<string, '' | null>> = { rate: '', maxWait: null };

/** Returns true if a value may stand in a field instead of its usual one. */
function isAlike(key: string, given: unknown, usual: unknown): boolean {
  if (key in MISSING) return typeof given === 'number' || given === MISSING[key];
  return Array.isArray(usual) ? Array.isArray(given) : typeof given === typeof usual;
}

/** The name under which this browser keeps copies of this user in this account. */
export function useOwner(): string {
  const { user, account } = useSession();
  return `${account.id}/${user.id}`;
}
