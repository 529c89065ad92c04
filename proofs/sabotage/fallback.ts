import { REVOKE } from '../../src/worker.ts';

// The next channel is tried although the network was never asked to revoke the first message.
REVOKE.put((revoke) => ({ ...revoke, ask: () => Promise.resolve(true) }));
