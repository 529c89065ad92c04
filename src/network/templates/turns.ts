import { AppError } from '../../platform/errors.ts';

/** Lets so many do their work at a time; others are asked to come back (503) and do not wait. */
export function createTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  let busy = 0;
  return async (work) => {
    if (busy >= most) throw new AppError('unavailable', { retryAfterSeconds: 1 });
    busy += 1;
    try {
      return await work();
    } finally {
      busy -= 1;
    }
  };
}
