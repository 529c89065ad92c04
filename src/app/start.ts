import { setTimeout as delay } from 'node:timers/promises';
import { isDatabaseStarting } from '../platform/db/startup-error.ts';
import { endsWithin } from '../platform/lib/background/ends-within.ts';
import { type Closers, createClosers, type Stopping, unlessAborted } from './stop.ts';

/** Time limit for PostgreSQL to start, or to recover from a crash, while this program starts. */
const DATABASE_START_MS = 30_000;
const DATABASE_RETRY_MS = 500;
/** Time limit for resources that are being opened to notice that the start was aborted. */
const OPENING_MS = 3000;

type Open<T> = (closers: Closers) => Promise<T>;
type Stoppable = { readonly stop: () => Promise<void> };

/**
 * Opens a program with `open`, which registers the closer of each part. While its database is still starting, as after
 * a crash of the whole machine, the start is repeated from the beginning for up to 30 seconds. When `stopping.signal`
 * is aborted before the program runs, or a step fails, everything that was opened is closed in the reverse order, and
 * this rejects.
 */
export async function startWith<T>(stopping: Stopping, open: Open<T>): Promise<T & Stoppable> {
  const deadline = performance.now() + DATABASE_START_MS;
  for (;;) {
    try {
      return await startOnce(stopping, open);
    } catch (error) {
      if (!isDatabaseStarting(error) || performance.now() > deadline) throw error;
      await delay(DATABASE_RETRY_MS, undefined, { signal: stopping.signal });
    }
  }
}

async function startOnce<T>(stopping: Stopping, open: Open<T>): Promise<T & Stoppable> {
  const closers = createClosers();
  const opening = open(closers);
  try {
    return { ...(await unlessAborted(opening, stopping.signal)), stop: closers.closeAll };
  } catch (error) {
    await closers.closeAll().catch(() => undefined);
    // Resources opened after the start was aborted are closed, too.
    await endsWithin(opening, OPENING_MS).catch(() => undefined);
    await closers.closeAll().catch(() => undefined);
    throw error;
  }
}
