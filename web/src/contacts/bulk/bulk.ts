import { useState } from 'react';
import { useAction } from '../../api/action.ts';
import { listContacts } from '../contact.ts';
import type { Query } from '../search.ts';
import type { Selection } from './selection.ts';

/** Contacts that something is to be done with: those chosen of what the filters show. */
export type Target = {
  readonly selection: Selection;
  readonly query: Query;
  /** How many they are. */
  readonly count: number;
  /** All contacts of the account, or all of a list, but for a few: the server knows these without their ids. */
  readonly isWhole: boolean;
};

export type Progress = { readonly phase: 'finding' | 'working'; readonly done: number; readonly total: number };
export type OnProgress = (progress: Progress) => void;

const PAGE = 1000;

/** Their ids. Whatever matches is asked for page by page, in the order of ids, which no change upsets. */
export async function idsOf({ selection, query, count }: Target, onProgress: OnProgress): Promise<readonly number[]> {
  if (!selection.all) return [...selection.ids];
  const found: number[] = [];
  for (let page = 0; ; page += 1) {
    const { data } = await listContacts({ ...query, sortBy: 'id', sortOrder: 'asc', page, limit: PAGE });
    for (const { id } of data) if (!selection.ids.has(id)) found.push(id);
    onProgress({ phase: 'finding', done: found.length, total: Math.max(count, found.length) });
    if (data.length < PAGE) return found;
  }
}

/** Runs over the ids batch by batch, and sums up what each answers. */
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

/** Something that is done with many contacts, and how far it is. What was done stays done when it fails half-way. */
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
