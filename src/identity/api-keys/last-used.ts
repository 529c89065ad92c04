import type { Db } from '../../platform/db/query.ts';
import type { Log } from '../../platform/lib/log.ts';
import { updateLastUsed } from './sql.ts';

/** The last use of an id; `writtenAt` is in ms of the monotonic clock. */
type Use = { at: Date; dirty: boolean; writtenAt: number };

/** Tracks the times at which ids were last used. */
export type UsageTracker = {
  /** Records a use. Costs a map lookup; the write happens later, off the request path. */
  used(id: number): void;
  /** Writes the uses that are due, in one statement. A failure is logged and retried at the next flush. */
  flush(): Promise<void>;
  /** Stops the periodic flush and writes all remaining uses. */
  close(): Promise<void>;
};

type Move = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }) => Promise<unknown>;
type UsageOptions = {
  readonly db: Db;
  readonly log: Log;
  /** Writes the times; default: those of API keys. */
  readonly move?: Move;
  readonly flushEveryMs?: number;
  readonly minGapMs?: number;
};

/**
 * Creates a tracker of the last use of keys, or sessions. It flushes every few seconds and writes each id at most once
 * in `minGapMs`. A crash loses about a minute of it.
 */
export function trackUsage(options: UsageOptions): UsageTracker {
  const { db, log, move = updateLastUsed, flushEveryMs = 5_000, minGapMs = 60_000 } = options;
  const uses = new Map<number, Use>();
  const flush = (gapMs: number) => write({ db, log, move }, takeDue(uses, performance.now() - gapMs));
  const timer = setInterval(() => void flush(minGapMs), flushEveryMs).unref();
  return {
    used(id) {
      const use = uses.get(id);
      if (use) Object.assign(use, { at: new Date(), dirty: true });
      else uses.set(id, { at: new Date(), dirty: true, writtenAt: -Infinity });
    },
    flush: () => flush(minGapMs),
    async close() {
      clearInterval(timer);
      await flush(0);
    },
  };
}

/** Returns the new uses of ids last written before `before`, and forgets such ids without a new use. */
function takeDue(uses: Map<number, Use>, before: number): [number, Use][] {
  const aged = [...uses].filter(([, use]) => use.writtenAt <= before);
  for (const [id, use] of aged) if (!use.dirty) uses.delete(id);
  return aged.filter(([, use]) => use.dirty);
}

type Writing = { readonly db: Db; readonly log: Log; readonly move: Move };

async function write({ db, log, move }: Writing, due: readonly [number, Use][]): Promise<void> {
  if (due.length === 0) return;
  for (const [, use] of due) Object.assign(use, { dirty: false, writtenAt: performance.now() });
  try {
    await move(db, { ids: due.map(([id]) => id), times: due.map(([, use]) => use.at) });
  } catch (error) {
    for (const [, use] of due) Object.assign(use, { dirty: true, writtenAt: -Infinity });
    log.warn({ err: error }, 'the last use of keys or sessions could not be written');
  }
}
