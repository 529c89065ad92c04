import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type FieldError } from '../../../../platform/errors.ts';
import {
  type Conversion,
  type Converted,
  convertFile,
  type Inspected,
  inspectFile,
  type PreviewedTable,
  previewFile,
} from './convert.ts';

/** Task of the thread: convert the file, only preview its table, or only detect its type. */
export type ThreadTask =
  | ({ readonly work: 'convert' } & Conversion)
  | ({ readonly work: 'preview' } & Omit<Conversion, 'chunks' | 'kind'>)
  | ({ readonly work: 'inspect' } & Pick<Conversion, 'source' | 'fileName'>);

/** Share of the file that has been read, from 0 to 1; the thread posts it from time to time. */
export type ThreadProgress = { readonly kind: 'progress'; readonly share: number };

/** The last message that the thread posts. */
export type ThreadResult =
  | { readonly kind: 'converted'; readonly converted: Converted }
  | { readonly kind: 'previewed'; readonly preview: PreviewedTable }
  | { readonly kind: 'inspected'; readonly inspected: Inspected }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'too_large';
      readonly message: string;
      readonly details: readonly FieldError[];
    };

const PROGRESS_MS = 300;

/** Posts progress at most every 300 ms. */
function postProgress(): (share: number) => void {
  let next = 0;
  return (share) => {
    if (performance.now() < next) return;
    next = performance.now() + PROGRESS_MS;
    parentPort?.postMessage({ kind: 'progress', share } satisfies ThreadProgress);
  };
}

async function run(task: ThreadTask): Promise<ThreadResult> {
  try {
    if (task.work === 'preview') return { kind: 'previewed', preview: await previewFile(task) };
    if (task.work === 'inspect') return { kind: 'inspected', inspected: await inspectFile({ ...task, kind: null }) };
    return { kind: 'converted', converted: await convertFile(task, postProgress()) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details = [] } = error;
    return { kind: 'refused', code: code === 'too_large' ? code : 'invalid', message, details };
  }
}

parentPort?.postMessage(await run(workerData));
