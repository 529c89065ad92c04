import { AppError } from '../errors.ts';

/** Each holds two files and, while it is read, a thread. */
const OF_ALL = 8;
const OF_ONE_ACCOUNT = 2;

/** Lets a few uploads in at a time, and of one account fewer, so that slow ones do not keep the others out. */
export function createUploadGate() {
  const inside = new Map<number, number>();
  let all = 0;

  function enter(accountId: number): void {
    const own = inside.get(accountId) ?? 0;
    if (own >= OF_ONE_ACCOUNT)
      throw new AppError('rate_limited', {
        message: `${OF_ONE_ACCOUNT} uploads of this account are under way`,
        retryAfterSeconds: 5,
      });
    if (all >= OF_ALL) throw new AppError('unavailable', { message: 'Too many uploads at once', retryAfterSeconds: 5 });
    inside.set(accountId, own + 1);
    all++;
  }

  function leave(accountId: number): void {
    const own = (inside.get(accountId) ?? 1) - 1;
    if (own === 0) inside.delete(accountId);
    else inside.set(accountId, own);
    all--;
  }

  return {
    /** Errors: 429 and 503, to come again. */
    async run<T>(accountId: number, work: () => Promise<T>): Promise<T> {
      enter(accountId);
      try {
        return await work();
      } finally {
        leave(accountId);
      }
    },
  };
}
