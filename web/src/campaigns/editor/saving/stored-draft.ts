import { api, ok } from '../../../api/client.ts';
import type { Draft } from '../draft.ts';

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
