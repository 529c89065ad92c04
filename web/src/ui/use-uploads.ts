import { useCallback, useEffect, useRef, useState } from 'react';
import { isSignedOut } from '../api/errors.ts';
import { type Media, uploadMedia } from '../api/media.ts';

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
  const [rows, setRows] = useState<readonly UploadRow[]>([]);
  const waiting = useRef<{ id: number; file: File }[]>([]);
  const running = useRef(0);
  const nextId = useRef(1);
  const listener = useRef(onUploaded);
  listener.current = onUploaded;
  const ending = useEnding();
  const change = useCallback((id: number, patch: Partial<UploadRow>): void => {
    setRows((all) => all.map((row) => (row.id === id ? { ...row, ...patch } : row)));
  }, []);
  const pump = useCallback((): void => {
    while (running.current < AT_ONCE) {
      const next = waiting.current.shift();
      if (!next) return;
      running.current += 1;
      change(next.id, { state: 'running' });
      void uploadMedia(next.file, { signal: ending(), onProgress: (sent) => change(next.id, { sent }) })
        .then(
          (media) => {
            change(next.id, { state: 'done', sent: next.file.size });
            listener.current(media);
          },
          (error: unknown) => change(next.id, isSignedOut(error) ? { state: 'failed' } : { state: 'failed', error }),
        )
        .finally(() => {
          running.current -= 1;
          pump();
        });
    }
  }, [change, ending]);
  const add = useCallback(
    (files: readonly File[]): void => {
      const added = files.map((file) => ({ id: nextId.current++, file }));
      waiting.current.push(...added);
      setRows((all) => [...all, ...added.map(({ id, file }) => rowOf(id, file))]);
      pump();
    },
    [pump],
  );
  const clear = useCallback((): void => setRows((all) => all.filter(isUnderWay)), []);
  return { rows, add, clear, busy: rows.some(isUnderWay) };
}

const rowOf = (id: number, { name, size }: File): UploadRow => ({ id, name, size, sent: 0, state: 'waiting' });
const isUnderWay = ({ state }: UploadRow): boolean => state === 'waiting' || state === 'running';

/** The signal that ends when the component goes. */
function useEnding(): () => AbortSignal {
  const controller = useRef<AbortController>(new AbortController());
  useEffect(() => {
    controller.current = new AbortController();
    return () => controller.current.abort();
  }, []);
  return useCallback(() => controller.current.signal, []);
}
