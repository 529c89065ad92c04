import { once } from 'node:events';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { WorkbookInput } from './sheet-thread.ts';

const THREAD = new URL('./sheet-thread.ts', import.meta.url);
const HEAP: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Writes rows as an XLSX workbook, with a sheet for each 1,048,575 rows. This happens in a separate thread: a row takes
 * 15 µs of CPU time, which would hold up everything else in the process.
 */
export async function writeWorkbook(work: WorkbookInput, signal: AbortSignal): Promise<void> {
  const thread = new Worker(THREAD, { workerData: work, resourceLimits: HEAP, env: {} });
  try {
    const ended = once(thread, 'exit', { signal }).then(() => Promise.reject(new Error('no workbook was written')));
    // An error in the thread rejects both.
    await Promise.race([once(thread, 'message', { signal }), ended]);
  } finally {
    await thread.terminate();
  }
}
