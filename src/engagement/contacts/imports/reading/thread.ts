import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type FieldError } from '../../../../platform/errors.ts';
import type { TablePreview } from '../check-table.ts';
import { previewFile, type Conversion, type Converted, convertFile } from './convert.ts';

/** What the thread is to do: convert the file, or only preview its table. */
export type ThreadTask =
  | ({ readonly work: 'convert' } & Conversion)
  | ({ readonly work: 'preview' } & Omit<Conversion, 'chunks' | 'kind'>);

/** The only message that the thread posts. */
export type ThreadResult =
  | { readonly kind: 'converted'; readonly converted: Converted }
  | { readonly kind: 'previewed'; readonly preview: TablePreview }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'too_large';
      readonly message: string;
      readonly details: readonly FieldError[];
    };

async function run(task: ThreadTask): Promise<ThreadResult> {
  try {
    if (task.work === 'preview') return { kind: 'previewed', preview: await previewFile(task) };
    return { kind: 'converted', converted: await convertFile(task) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details = [] } = error;
    return { kind: 'refused', code: code === 'too_large' ? code : 'invalid', message, details };
  }
}

parentPort?.postMessage(await run(workerData));
