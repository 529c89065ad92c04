import { fstatSync } from 'node:fs';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { AppError } from '../../../platform/errors.ts';
import { createFairQueue } from '../../../platform/fair-queue.ts';
import type { Conversion, Converted, Inspected, OnProgress, PreviewedTable } from './reading/convert.ts';
import { badFile } from './limits.ts';
import type { ThreadProgress, ThreadResult, ThreadTask } from './reading/thread.ts';

const THREAD = new URL('./reading/thread.ts', import.meta.url);
/** A million rows take about 100 MB, most of it for the phone numbers, which are kept to find duplicates. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** A million rows take about 15 s on one core. */
const TIMEOUT_MS = 280_000;
/** The threads that read files, for the accounts in turn; of one account, one file at a time. */
const readers = createFairQueue({ size: 2, perAccount: 1 });

/**
 * Reads and checks a file in a separate thread with limited memory and time: whatever the file contains, the program
 * keeps running and serving requests. Errors: 400 or 413 that describe the fault in the file.
 */
export async function readFile(
  accountId: number,
  conversion: Conversion,
  { heap = HEAP, onProgress }: { heap?: ResourceLimits; onProgress?: OnProgress } = {},
): Promise<Converted> {
  const result = await readInTurn(accountId, { work: 'convert', ...conversion }, heap, onProgress);
  if (result.kind !== 'converted') throw new Error('the thread did something else');
  return result.converted;
}

/** Reads the beginning of the table of a file, in a thread with the same limits. Errors: as of `readFile`. */
export async function readFilePreview(
  accountId: number,
  conversion: Omit<Conversion, 'chunks' | 'kind'>,
): Promise<PreviewedTable> {
  const result = await readInTurn(accountId, { work: 'preview', ...conversion }, HEAP);
  if (result.kind !== 'previewed') throw new Error('the thread did something else');
  return result.preview;
}

/** Detects the type of a file, in a thread with the same limits. Errors: as of `readFile`. */
export async function inspect(accountId: number, file: Pick<Conversion, 'source' | 'fileName'>): Promise<Inspected> {
  const result = await readInTurn(accountId, { work: 'inspect', ...file }, HEAP);
  if (result.kind !== 'inspected') throw new Error('the thread did something else');
  return result.inspected;
}

type Read = Exclude<ThreadResult, { kind: 'refused' }>;

/** A preview reads only the beginning of its file, so it costs nothing next to a whole file. */
const readInTurn = (
  accountId: number,
  task: ThreadTask,
  heap: ResourceLimits,
  onProgress?: OnProgress,
): Promise<Read> =>
  readers.run(accountId, () => runThread(task, heap, onProgress), {
    cost: task.work === 'preview' ? 0 : fstatSync(task.source).size,
  });

async function runThread(task: ThreadTask, resourceLimits: ResourceLimits, onProgress?: OnProgress): Promise<Read> {
  const thread = new Worker(THREAD, { workerData: task, resourceLimits, env: {} });
  try {
    const result = await resultOf(thread, onProgress);
    if (result.kind !== 'refused') return result;
    throw new AppError(result.code, { message: result.message, details: result.details });
  } catch (error) {
    throw isOutOfMemory(error) ? badFile('takes too much memory to read') : error;
  } finally {
    await thread.terminate();
  }
}

function resultOf(thread: Worker, onProgress?: OnProgress): Promise<ThreadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>();
  thread.on('message', (message: ThreadResult | ThreadProgress) => {
    if (message.kind === 'progress') onProgress?.(message.share);
    else resolve(message);
  });
  thread.once('error', reject);
  const timer = setTimeout(() => reject(badFile('takes too long to read')), TIMEOUT_MS);
  return promise.finally(() => clearTimeout(timer));
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
