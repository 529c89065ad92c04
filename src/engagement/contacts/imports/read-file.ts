import { type ResourceLimits, Worker } from 'node:worker_threads';
import { AppError } from '../../../platform/errors.ts';
import { createSlots } from '../../../platform/lib/slots.ts';
import type { TablePreview } from './check-table.ts';
import type { Conversion, Converted } from './reading/convert.ts';
import { badFile } from './limits.ts';
import type { ThreadResult, ThreadTask } from './reading/thread.ts';

const THREAD = new URL('./reading/thread.ts', import.meta.url);
/** A million rows take about 100 MB, most of it for the numbers that were seen. */
const HEAP = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };
/** A million rows take about 15 s on one core. */
const TIMEOUT_MS = 280_000;
/** Files that are read at a time, in one process; the others wait. */
const MAX_CONCURRENT_FILES = 2;

const slots = createSlots(MAX_CONCURRENT_FILES);

/**
 * Reads and checks a file in a thread of its own, with a bound on its memory and its time: whatever the file is, the
 * program goes on, and requests are answered meanwhile.
 * Errors: 400 or 413 that say what is wrong with the file.
 */
export async function readFile(conversion: Conversion, heap: ResourceLimits = HEAP): Promise<Converted> {
  const said = await slots.run(() => runThread({ work: 'convert', ...conversion }, heap));
  if (said.kind !== 'converted') throw new Error('the thread did something else');
  return said.converted;
}

/** The same for how the table of a file begins. */
export async function readFilePreview(conversion: Omit<Conversion, 'chunks' | 'kind'>): Promise<TablePreview> {
  const said = await slots.run(() => runThread({ work: 'begin', ...conversion }, HEAP));
  if (said.kind !== 'begun') throw new Error('the thread did something else');
  return said.beginning;
}

async function runThread(
  task: ThreadTask,
  resourceLimits: ResourceLimits,
): Promise<Exclude<ThreadResult, { kind: 'refused' }>> {
  const thread = new Worker(THREAD, { workerData: task, resourceLimits, env: {} });
  try {
    const said = await firstMessage(thread);
    if (said.kind !== 'refused') return said;
    throw new AppError(said.code, { message: said.message, details: said.details });
  } catch (error) {
    throw isOutOfMemory(error) ? badFile('takes too much memory to read') : error;
  } finally {
    await thread.terminate();
  }
}

function firstMessage(thread: Worker): Promise<ThreadResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ThreadResult>();
  thread.once('message', resolve);
  thread.once('error', reject);
  const timer = setTimeout(() => reject(badFile('takes too long to read')), TIMEOUT_MS);
  return promise.finally(() => clearTimeout(timer));
}

const isOutOfMemory = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
