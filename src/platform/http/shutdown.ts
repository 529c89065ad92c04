import type { App } from './app.ts';

const SWEEP_MS = 50;

/**
 * Stops taking connections, lets the requests under way finish, and closes every connection that is left when
 * `deadlineMs` has passed. Resolves when the server is closed and all onClose hooks have run.
 */
export async function closeWithin(app: App, deadlineMs: number): Promise<void> {
  // A connection kept alive falls idle when its last answer is out, and would then hold up the end for a minute.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
  const deadline = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(deadline);
  }
}
