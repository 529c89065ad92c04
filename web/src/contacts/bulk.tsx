import { Stack } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { QuestionDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { JobProgress } from '../ui/values.tsx';
import { CONTACTS, listContacts, type Query } from './contact.ts';

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

type Progress = { readonly phase: 'finding' | 'working'; readonly done: number; readonly total: number };
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

/** The progress of a bulk action in a dialog, with its request; nothing is shown while none is running. */
export function useBulkProgress() {
  const { t } = useTranslation('contacts');
  const [progress, setProgress] = useState<Progress | null>(null);
  return {
    /** Runs the action. If it fails half-way, the batches already done stay done. */
    track: <O,>(work: (onProgress: OnProgress) => Promise<O>): Promise<O> =>
      work(setProgress).finally(() => setProgress(null)),
    bar: progress && <JobProgress label={t(`bulk.${progress.phase}`)} done={progress.done} total={progress.total} />,
  };
}

/** The queries to refetch after a bulk action. */
export const BULK_KEYS = [['contacts'], ['lists']] as const;

/** To delete more contacts than this, the user must type their number. */
const MAX_WITHOUT_TYPING = 100;
/** IDs per request; more do not fit into a URL. */
const BATCH_SIZE = 1000;

type BulkDeleteDialogProps = { readonly target: Target; readonly onDone: () => void };

/** Confirms that contacts are permanently deleted. */
export function BulkDeleteDialog({ target, onDone }: BulkDeleteDialogProps) {
  const { t } = useTranslation('contacts');
  const format = useFormat();
  const { track, bar } = useBulkProgress();
  const of = { count: target.count, shown: format.number(target.count) };
  return (
    <QuestionDialog
      title={t('delete.title', of)}
      text={
        <Stack gap="sm">
          {t('delete.text')}
          {bar}
        </Stack>
      }
      action={t('delete.submit', of)}
      run={() => track((onProgress) => removeAll(target, onProgress))}
      refresh={BULK_KEYS}
      done={(deleted) => t('delete.done', { count: deleted, shown: format.number(deleted) })}
      onDone={onDone}
      typed={target.count > MAX_WITHOUT_TYPING ? String(target.count) : undefined}
    />
  );
}

async function removeAll(target: Target, onProgress: OnProgress): Promise<number> {
  const ids = await idsOf(target, onProgress);
  return inBatches(ids, {
    size: BATCH_SIZE,
    onProgress,
    run: async (batch) => (await ok(api.DELETE(CONTACTS, { params: { query: { ids: batch.join(',') } } }))).deleted,
  });
}

/** The selected contacts: `ids`, or with `all` everything that matches the filters except `ids`. */
export type Selection = { readonly all: boolean; readonly ids: ReadonlySet<number> };

export const NOBODY: Selection = { all: false, ids: new Set() };
export const EVERYBODY: Selection = { all: true, ids: new Set() };

export const isSelected = ({ all, ids }: Selection, id: number): boolean => all !== ids.has(id);

export const countOf = ({ all, ids }: Selection, total: number): number =>
  all ? Math.max(0, total - ids.size) : ids.size;

export function toggled(selection: Selection, id: number): Selection {
  const ids = new Set(selection.ids);
  if (!ids.delete(id)) ids.add(id);
  return { ...selection, ids };
}
