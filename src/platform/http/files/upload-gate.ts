import { AppError } from '../../errors.ts';

/** Each upload needs two open files and, while it is processed, a thread. */
const MAX_UPLOADS = 8;
const MAX_UPLOADS_PER_ACCOUNT = 2;

/** Limits concurrent uploads, in total and per account, so that slow uploads of one account do not block the others. */
export function createUploadGate() {
  const inside = new Map<number, number>();
  let all = 0;

  function enter(accountId: number): void {
    const own = inside.get(accountId) ?? 0;
    if (own >= MAX_UPLOADS_PER_ACCOUNT)
      throw new AppError('rate_limited', {
        message: `${MAX_UPLOADS_PER_ACCOUNT} uploads of this account are in progress`,
        retryAfterSeconds: 5,
      });
    if (all >= MAX_UPLOADS)
      throw new AppError('unavailable', { message: 'Too many uploads in progress', retryAfterSeconds: 5 });
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
    /** Runs an upload. Errors: 429 when the account has too many in progress, 503 when all accounts together have. */
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
