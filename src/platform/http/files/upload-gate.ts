import { AppError } from '../../errors.ts';
import { createFairQueue, type Slot } from '../../fair-queue.ts';

/** Slot of an upload, used while its body arrives. */
export type Place = {
  /** Reports received bytes of the body, by which the upload keeps its slot. */
  received(bytes: number): void;
  /** Aborted, with an AppError, when the upload has to give way to one of another account. */
  readonly signal: AbortSignal;
};

/** An upload in progress. */
export type Upload = {
  /**
   * Waits for a slot and runs `take`, which receives the body, while it holds the slot. Errors: 503 if no slot became
   * free in time.
   */
  receive<T>(take: (place: Place) => Promise<T>): Promise<T>;
};

export type UploadGate = {
  /** Runs an upload. Errors: 429 if the account has too many in progress, 503 if all accounts together have. */
  run<T>(accountId: number, work: (upload: Upload) => Promise<T>): Promise<T>;
};

const DEFAULTS = {
  /** Number of bodies that are received at the same time; the others wait. */
  places: 8,
  /** Maximum uploads in progress of one account: in reception, waiting, or being processed. */
  perAccount: 2,
  /** Maximum uploads in progress of all accounts. Each needs two open files. */
  inAll: 200,
  /** A body that arrives more slowly is dripping: it gives way to others. */
  bytesPerSecond: 32 * 1024,
  /** A body does not count as dripping before it has been slower for this long. */
  graceMs: 2000,
  /** Time for which an upload waits for a slot. Shorter than the time after which an unread body is cut off. */
  patienceMs: 6000,
  /** Interval at which a waiting upload looks for one that has to give way. */
  checkMs: 250,
  now: (): number => performance.now(),
};
export type UploadGateOptions = typeof DEFAULTS;

/** An upload whose body is arriving. `paidUntil`: the bytes so far keep it from counting as dripping until then. */
type Reception = { readonly accountId: number; paidUntil: number; readonly giveWay: AbortController };

/**
 * Gives the slots in which bodies of uploads are received to the accounts in turn. A slot is held only while bytes
 * flow: when all are taken and another upload waits, a dripping one loses its slot, the slowest first. If all flow, an
 * account with several slots loses one to an account with none.
 */
export function createUploadGate(options: Partial<UploadGateOptions> = {}): UploadGate {
  const { places, perAccount, inAll, bytesPerSecond, graceMs, patienceMs, checkMs, now } = { ...DEFAULTS, ...options };
  const queue = createFairQueue({ size: places, perAccount });
  const inside = new Map<number, number>();
  const receptions = new Set<Reception>();
  let all = 0;

  function enter(accountId: number): Disposable {
    const own = inside.get(accountId) ?? 0;
    if (own >= perAccount)
      throw new AppError('rate_limited', {
        message: `${perAccount} uploads of this account are in progress`,
        retryAfterSeconds: 5,
      });
    if (all >= inAll) throw tooMany();
    inside.set(accountId, own + 1);
    all++;
    return { [Symbol.dispose]: () => leave(accountId) };
  }

  function leave(accountId: number): void {
    const own = (inside.get(accountId) ?? 1) - 1;
    if (own === 0) inside.delete(accountId);
    else inside.set(accountId, own);
    all--;
  }

  const placesOf = (accountId: number): number =>
    [...receptions].filter((reception) => reception.accountId === accountId).length;

  /** Finds the upload that gives way to one of this account, which has waited for `waitedMs`. */
  function findYielding(accountId: number, waitedMs: number): Reception | undefined {
    const slowestFirst = [...receptions].sort((a, b) => a.paidUntil - b.paidUntil);
    const [slowest] = slowestFirst;
    if (slowest && slowest.paidUntil < now()) return slowest;
    if (waitedMs < graceMs || placesOf(accountId) > 0) return undefined;
    return slowestFirst.find((reception) => placesOf(reception.accountId) > 1);
  }

  function makeRoom(accountId: number, waitedMs: number): void {
    if (receptions.size < places) return;
    const yielding = findYielding(accountId, waitedMs);
    if (!yielding) return;
    receptions.delete(yielding);
    yielding.giveWay.abort(gaveWay());
  }

  async function waitForPlace(accountId: number): Promise<Slot> {
    const patience = new AbortController();
    const beganAt = now();
    const check = setInterval(() => makeRoom(accountId, now() - beganAt), checkMs);
    const timer = setTimeout(() => patience.abort(tooMany()), patienceMs);
    makeRoom(accountId, 0);
    try {
      return await queue.enter(accountId, { signal: patience.signal });
    } finally {
      clearInterval(check);
      clearTimeout(timer);
    }
  }

  async function receive<T>(accountId: number, take: (place: Place) => Promise<T>): Promise<T> {
    using _slot = await waitForPlace(accountId);
    const reception = { accountId, paidUntil: now() + graceMs, giveWay: new AbortController() };
    receptions.add(reception);
    try {
      return await take({
        received(bytes) {
          const paid = Math.max(reception.paidUntil, now()) + (bytes / bytesPerSecond) * 1000;
          reception.paidUntil = Math.min(paid, now() + graceMs);
        },
        signal: reception.giveWay.signal,
      });
    } finally {
      receptions.delete(reception);
    }
  }

  return {
    async run(accountId, work) {
      using _upload = enter(accountId);
      return await work({ receive: (take) => receive(accountId, take) });
    },
  };
}

const tooMany = (): AppError =>
  new AppError('unavailable', { message: 'Too many uploads in progress', retryAfterSeconds: 5 });

const gaveWay = (): AppError =>
  new AppError('unavailable', {
    message: 'The upload was too slow while others waited: retry later',
    retryAfterSeconds: 5,
  });
