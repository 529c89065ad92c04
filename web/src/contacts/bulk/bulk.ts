import { useState } from 'react';
import { useAction } from '../../api/action.ts';
import { listContacts } from '../contact.ts';
import type { Query } from '../search.ts';
import type { Selection } from './selection.ts';

/** The contacts of a bulk action: a selection among those that match the filters. */
export type Target = {
  readonly selection: Selection;
  readonly query: Query;
  /** The number of selected contacts. */
  readonly count: number;
  /**
   * True if everything in the account or list is selected except `selection.ids`; the server then needs no list of IDs.
   */
  readonly isWhole: boolean;
};

export type Progress = { readonly phase: 'finding' | 'working'; readonly done: number; readonly total: number };
export type OnProgress = (progress: Progress) => void;

const PAGE_SIZE = 1000;

/**
 * Resolves with the IDs of the selected contacts. Matching contacts are fetched page by page in the order of IDs,
 * which changes do not affect.
 */
export async function idsOf({ selection, query, count }: Target, onProgress: OnProgress): Promise<readonly number[]> {
  if (!selection.all) return [...selection.ids];
  const found: number[] = [];
  for (let page = 0; ; page += 1) {
    const { data } = await listContacts({ ...query, sortBy: 'id', sortOrder: 'asc', page, limit: PAGE_SIZE });
    for (const { id } of data) if (!selection.ids.has(id)) found.push(id);
    onProgress({ phase: 'finding', done: found.length, total: Math.max(count, found.length) });
    if (data.length < PAGE_SIZE) return found;
  }
}

/** Runs an action on the IDs in batches, and returns the sum of the results. */
export async function inBatches(
  ids: readonly number[],
  { size, run, onProgress }: { size: number; run: (batch: number[]) => Promise<number>; onProgress: OnProgress },
): Promise<number> {
  let sum = 0;
  for (let at = 0; at < ids.length; at += size) {
    onProgress({ phase: 'working', done: at, total: ids.length });
    sum += await run(ids.slice(at, at + size));
  }
  return sum;
}

type BulkOptions<I, O> = {
  readonly work: (input: I, onProgress: OnProgress) => Promise<O>;
  readonly done?: (output: O, input: I) => string;
  readonly onDone?: (output: O) => void;
};

/**
 * Runs an action on many contacts and reports its progress. If it fails half-way, the batches already done stay done.
 */
export function useBulk<I, O>({ work, done, onDone }: BulkOptions<I, O>) {
  const [progress, setProgress] = useState<Progress | null>(null);
  const action = useAction<I, O>({
    run: (input) => work(input, setProgress).finally(() => setProgress(null)),
    refresh: [['contacts'], ['lists']],
    done,
    onDone,
  });
  return { ...action, progress };
}
