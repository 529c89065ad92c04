import { parentPort, workerData } from 'node:worker_threads';
import { AppError, type FieldError } from '../../../errors.ts';
import { type Conversion, type Converted, convert } from './convert.ts';

/** What the thread of a conversion says, once. */
export type Said =
  | { readonly kind: 'converted'; readonly converted: Converted }
  | {
      readonly kind: 'refused';
      readonly code: 'invalid' | 'too_large';
      readonly message: string;
      readonly details: readonly FieldError[];
    };

async function run(conversion: Conversion): Promise<Said> {
  try {
    return { kind: 'converted', converted: await convert(conversion) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, details = [] } = error;
    return { kind: 'refused', code: code === 'too_large' ? code : 'invalid', message, details };
  }
}

parentPort?.postMessage(await run(workerData));
