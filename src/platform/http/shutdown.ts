import type { App } from './app.ts';

const SWEEP_MS = 50;

/**
 * Stops accepting connections, lets requests in progress finish, and closes every connection that is left after
 * `deadlineMs`. Resolves when the server is closed and all onClose hooks have run.
 */
export async function closeWithin(app: App, deadlineMs: number): Promise<void> {
  // A kept-alive connection becomes idle after its last answer and would then delay the shutdown by a minute.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
  const deadline = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearInterval(sweep);
    clearTimeout(deadline);
  }
}
