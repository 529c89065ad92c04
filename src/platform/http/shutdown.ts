import { endsWithin } from '../lib/background/ends-within.ts';
import type { App } from './app.ts';

const SWEEP_MS = 50;
/** Time limit for a server to close after its connections were closed. */
const GRACE_MS = 500;

/**
 * Stops accepting connections, lets requests in progress finish, and closes every connection that is left after
 * `deadlineMs`. Resolves when the server is closed and all onClose hooks have run, or half a second after the deadline:
 * the server cannot close a connection whose TLS handshake has not ended.
 */
export async function closeWithin(app: App, deadlineMs: number): Promise<void> {
  // A kept-alive connection becomes idle after its last response and would then delay the shutdown by a minute.
  const sweep = setInterval(() => app.server.closeIdleConnections(), SWEEP_MS);
  const closed = app.close();
  try {
    if (await endsWithin(closed, deadlineMs)) return;
    app.server.closeAllConnections();
    await endsWithin(closed, GRACE_MS);
  } finally {
    clearInterval(sweep);
  }
}
