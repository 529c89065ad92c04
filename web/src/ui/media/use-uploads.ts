import { useEffect, useState, useSyncExternalStore } from 'react';
import { type Media, uploadMedia } from '../../api/media.ts';

/** One file on its way. `error` is what was rejected with. */
export type UploadRow = {
  readonly id: number;
  readonly name: string;
  readonly size: number;
  readonly sent: number;
  readonly state: 'waiting' | 'running' | 'done' | 'failed';
  readonly error?: unknown;
};

/** At the same time; the others wait. The server takes few of one account at once. */
const AT_ONCE = 2;

/** Sends files, some at a time, and tells how far each is. Ends those under way when the component goes. */
export function useUploads(onUploaded: (media: Media) => void) {
  const [uploads] = useState(createUploads);
  const rows = useSyncExternalStore(uploads.listen, uploads.rows);
  useEffect(() => uploads.end, [uploads]);
  return {
    rows,
    add: (files: readonly File[]): void => uploads.add(files, onUploaded),
    /** Puts those away that have ended. */
    clear: uploads.clear,
    busy: rows.some(isUnderWay),
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
    for (const tell of listeners) tell();
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
    if (!next || running.size >= AT_ONCE) return;
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
    clear: (): void => show(rows.filter(isUnderWay)),
    end(): void {
      waiting = [];
      for (const controller of running.values()) controller.abort();
    },
  };
}

const rowOf = ({ id, file: { name, size } }: Job): UploadRow => ({ id, name, size, sent: 0, state: 'waiting' });
const isUnderWay = ({ state }: UploadRow): boolean => state === 'waiting' || state === 'running';
