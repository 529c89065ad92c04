import type { Db } from '../../platform/db/query.ts';
import type { Log } from '../../platform/lib/log.ts';
import { updateLastUsed } from './sql.ts';

/** `writtenAt` in ms of the monotonic clock. */
type Use = { at: Date; dirty: boolean; writtenAt: number };

export type UsageTracker = {
  /** Costs a map look-up; the write comes later, off the request path. */
  used(id: number): void;
  /** Writes the uses that are due, in one statement. A failure is logged and tried again at the next flush. */
  flush(): Promise<void>;
  /** Ends the periodic flush and writes all that is left. */
  close(): Promise<void>;
};

type Move = (db: Db, input: { ids: readonly number[]; times: readonly Date[] }) => Promise<unknown>;
type UsageOptions = {
  readonly db: Db;
  readonly log: Log;
  /** Writes the times; those of API keys unless said otherwise. */
  readonly move?: Move;
  readonly flushEveryMs?: number;
  readonly minGapMs?: number;
};

/**
 * Keeps when keys, or sessions, were last used: flushed every few seconds, each written at most once in `minGapMs`. What
 * a crash loses is a minute of it.
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

/** The uses to write among those last written before `before`; those of that age without a new use are forgotten. */
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
    log.warn({ err: error }, 'when keys or sessions were last used could not be written');
  }
}
