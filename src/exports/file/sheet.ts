import { ReadableStream } from 'node:stream/web';
import { type ResourceLimits, Worker } from 'node:worker_threads';
import type { SheetWork } from './sheet-thread.ts';

const THREAD = new URL('./sheet-thread.ts', import.meta.url);
const HEAP: ResourceLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 4 };

/**
 * Turns rows as COPY writes them as text into an XLSX workbook, a sheet for each 1,048,575 of them. In a thread of its own:
 * it takes 15 µs of CPU a row, which would hold up whatever else the process does.
 */
export function toSheet({ name, columns }: Omit<SheetWork, 'source'>) {
  return async function* (rows: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
    // Copies: between threads a view would take the whole buffer behind it along.
    const source = ReadableStream.from(copies(rows));
    const workerData: unknown = { source, name, columns };
    const thread = new Worker(THREAD, { workerData, transferList: [source], resourceLimits: HEAP, env: {} });
    try {
      for await (const chunk of await firstMessage(thread)) yield chunk;
    } finally {
      await thread.terminate();
    }
  };
}

async function* copies(source: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  for await (const chunk of source) yield new Uint8Array(chunk);
}

function firstMessage(thread: Worker): Promise<ReadableStream<Uint8Array>> {
  const { promise, resolve, reject } = Promise.withResolvers<ReadableStream<Uint8Array>>();
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.once('exit', () => reject(new Error('the thread that writes a workbook ended')));
  return promise;
}
