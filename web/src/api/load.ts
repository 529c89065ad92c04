import { lazy } from 'react';
import { isReachable, saySlow, untilBack } from './monitor.ts';

/**
 * Loads a part of the console, such as `() => import('./page.tsx')`. While the server cannot be reached it waits, and
 * loads it when the server is back. Rejects if the server responds and the part is still missing, as after an upgrade.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  // Not even tried: browsers may remember that a module could not be loaded, until the page is reloaded.
  if (!isReachable()) await untilBack();
  try {
    return await saySlow(load());
  } catch {
    await untilBack();
    return load();
  }
}

/** Like `lazy`, for a part of a page: while the server cannot be reached it waits, and appears when the server is back. */
export const lazyPart: typeof lazy = (load) => lazy(() => loadPart(load));
