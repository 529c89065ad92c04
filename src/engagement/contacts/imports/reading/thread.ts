import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type FieldError } from '../../../../platform/errors.ts';
import type { Beginning } from '../check-table.ts';
import { begin, type Conversion, type Converted, convert } from './convert.ts';

/** What the thread is to do: convert the file, or only say how its table begins. */
export type Task =
  | ({ readonly work: 'convert' } & Conversion)
  | ({ readonly work: 'begin' } & Omit<Conversion, 'chunks' | 'kind'>);

/** What the thread of a conversion says, once. */
export type Said =
  | { readonly kind: 'converted'; readonly converted: Converted }
  | { readonly kind: 'begun'; readonly beginning: Beginning }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'too_large';
      readonly message: string;
      readonly details: readonly FieldError[];
    };

async function run(task: Task): Promise<Said> {
  try {
    if (task.work === 'begin') return { kind: 'begun', beginning: await begin(task) };
    return { kind: 'converted', converted: await convert(task) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details = [] } = error;
    return { kind: 'refused', code: code === 'too_large' ? code : 'invalid', message, details };
  }
}

parentPort?.postMessage(await run(workerData));
