import { once } from 'node:events';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { SheetWork } from './sheet-thread.ts';

const THREAD = new URL('./sheet-thread.ts', import.meta.url);
const HEAP: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Makes an XLSX workbook of rows, a sheet for each 1,048,575 of them. In a thread of its own: it takes 15 µs of CPU a row,
 * which would hold up whatever else the process does.
 */
export async function writeSheet(work: SheetWork, signal: AbortSignal): Promise<void> {
  const thread = new Worker(THREAD, { workerData: work, resourceLimits: HEAP, env: {} });
  try {
    const ended = once(thread, 'exit', { signal }).then(() => Promise.reject(new Error('no workbook was written')));
    // What fails in the thread rejects either.
    await Promise.race([once(thread, 'message', { signal }), ended]);
  } finally {
    await thread.terminate();
  }
}
