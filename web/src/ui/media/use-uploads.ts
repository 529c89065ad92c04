import { useEffect, useState, useSyncExternalStore } from 'react';
import { type Media, uploadMedia } from '../../api/media.ts';

/** One upload. `error` is the rejection of the request. */
export type UploadRow = {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly state: 'waiting' | 'running' | 'done' | 'failed';
  readonly error?: unknown;
};

/** Maximum concurrent uploads; the others wait. The server limits concurrent uploads per account. */
const MAX_CONCURRENT = 2;

/**
 * Uploads files, a few at a time, and reports the progress of each. Running uploads are aborted when the component
 * unmounts.
 */
export function useUploads(onUploaded: (media: Media) => void) {
  const [uploads] = useState(createUploads);
  const rows = useSyncExternalStore(uploads.listen, uploads.rows);
  useEffect(() => uploads.end, [uploads]);
  return {
    rows,
    add: (files: readonly File[]): void => uploads.add(files, onUploaded),
    /** Removes finished uploads from the list. */
    clear: uploads.clear,
    busy: rows.some(isActive),
  };
}

type Job = { readonly id: number; readonly file: File; readonly onUploaded: (media: Media) => void };

function createUploads() {
  let rows: readonly UploadRow[] = [];
  let nextId = 1;
  let waiting: readonly Job[] = [];
  const running = new Map<number, AbortController>();
  const listeners = new Set<() => void>();
  const show = (next: readonly UploadRow[]): void => {
    rows = next;
    for (const listener of listeners) listener();
  };
  const change = (id: number, patch: Partial<UploadRow>): void =>
    show(rows.map((row) => (row.id === id ? { ...row, ...patch } : row)));

  async function send({ id, file, onUploaded }: Job, signal: AbortSignal): Promise<void> {
    change(id, { state: 'running' });
    try {
      const media = await uploadMedia(file, { signal, onProgress: (sent) => change(id, { sent }) });
      change(id, { state: 'done', sent: file.size });
      onUploaded(media);
    } catch (error) {
      change(id, { state: 'failed', error });
    }
    running.delete(id);
    pump();
  }

  function pump(): void {
    const [next, ...later] = waiting;
    if (!next || running.size >= MAX_CONCURRENT) return;
    waiting = later;
    const controller = new AbortController();
    running.set(next.id, controller);
    void send(next, controller.signal);
    pump();
  }

  return {
    rows: (): readonly UploadRow[] => rows,
    listen(tell: () => void): () => void {
      listeners.add(tell);
      return () => listeners.delete(tell);
    },
    add(files: readonly File[], onUploaded: Job['onUploaded']): void {
      const jobs = files.map((file) => ({ id: nextId++, file, onUploaded }));
      waiting = [...waiting, ...jobs];
      show([...rows, ...jobs.map(rowOf)]);
      pump();
    },
    clear: (): void => show(rows.filter(isActive)),
    end(): void {
      waiting = [];
      for (const controller of running.values()) controller.abort();
    },
  };
}

const rowOf = ({ id, file: { name, size } }: Job): UploadRow => ({ id, name, size, sent: 0, state: 'waiting' });
const isActive = ({ state }: UploadRow): boolean => state === 'waiting' || state === 'running';
