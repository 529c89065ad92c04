import { fstatSync } from 'node:fs';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import { AppError } from '../core/errors.ts';
import { createFairQueue } from '../core/fair-queue.ts';
import { badFile } from './import-check.ts';
import type {
  Conversion,
  Converted,
  Inspected,
  OnProgress,
  PreviewedTable,
  ThreadProgress,
  ThreadResult,
  ThreadTask,
} from './import-thread.ts';

const THREAD = new URL('./import-thread.ts', import.meta.url);
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
export async function inspectFile(
  accountId: number,
  file: Pick<Conversion, 'source' | 'fileName'>,
): Promise<Inspected> {
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

async function runThread(task: ThreadTask, heap: ResourceLimits, onProgress?: OnProgress): Promise<Read> {
  const thread = takeThread(heap);
  const result = await resultOf(thread, task, onProgress).catch(async (error: unknown) => {
    await thread.terminate();
    throw isOutOfMemory(error) ? badFile('takes too much memory to read') : error;
  });
  await releaseThread(thread, heap);
  if (result.kind !== 'refused') return result;
  throw new AppError(result.code, { message: result.message, details: result.details });
}

/** Time for which a thread waits for the next file: a person looks at a file several times before importing it. */
const SPARE_MS = 10_000;
/** A thread that waits for the next file. Loading another one takes half a second of CPU. */
let spare: { readonly thread: Worker; readonly end: NodeJS.Timeout } | null = null;

function takeThread(heap: ResourceLimits): Worker {
  const waiting = heap === HEAP ? spare : null;
  if (!waiting) return startThread(heap);
  spare = null;
  clearTimeout(waiting.end);
  waiting.thread.ref();
  return waiting.thread;
}

function startThread(resourceLimits: ResourceLimits): Worker {
  const thread = new Worker(THREAD, { resourceLimits, env: {} });
  // One that dies while it waits must not end the program, nor get a file.
  return thread
    .on('error', () => undefined)
    .once('exit', () => {
      if (spare?.thread === thread) spare = null;
    });
}

async function releaseThread(thread: Worker, heap: ResourceLimits): Promise<void> {
  if (heap !== HEAP || spare) return void (await thread.terminate());
  thread.unref();
  const end = setTimeout(() => {
    spare = null;
    void thread.terminate();
  }, SPARE_MS).unref();
  spare = { thread, end };
}

function resultOf(thread: Worker, task: ThreadTask, onProgress?: OnProgress): Promise<ThreadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>();
  const receive = (message: ThreadResult | ThreadProgress): void => {
    if (message.kind === 'progress') onProgress?.(message.share);
    else resolve(message);
  };
  thread.on('message', receive).once('error', reject);
  thread.postMessage(task);
  const timer = setTimeout(() => reject(badFile('takes too long to read')), TIMEOUT_MS);
  return promise.finally(() => {
    clearTimeout(timer);
    thread.off('message', receive).off('error', reject);
  });
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
