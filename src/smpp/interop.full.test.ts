import { describe, expect, onTestFinished, test } from 'vitest';
import { CHECKS, type Checks, Skipped } from '../../test/support/interop/checks.ts';
import { ESME_CHECKS } from '../../test/support/interop/esme-checks.ts';
import { KANNEL, kannelIsMissing } from '../../test/support/interop/peers/kannel.ts';
import { LIBRARY_CLIENT } from '../../test/support/interop/peers/library-client.ts';
import { startLibraryServer } from '../../test/support/interop/peers/library-server.ts';
import { SMSC_CHECKS } from '../../test/support/interop/smsc-checks.ts';

// The same ten checks with software that shares no code with ours: `npm run interop` shows them as a table.

/** Runs one check; checks that the peer has no means for are reported as skipped, with the reason. */
async function run<P>(checks: Checks<P>, name: (typeof CHECKS)[number], peer: P, skip: (why: string) => void) {
  const seen = await checks[name](peer).catch((error: unknown) => {
    if (error instanceof Skipped) return skip(error.message);
    throw error;
  });
  expect(seen).toBeTruthy();
}

describe('our client and a server made of the npm package smpp agree on', () => {
  test.for(CHECKS)('%s', async (name, { skip }) => {
    const peer = await startLibraryServer();
    onTestFinished(() => peer[Symbol.asyncDispose]());
    await run(SMSC_CHECKS, name, peer, skip);
  });
});

describe('our simulated SMSC and a client made of the npm package smpp agree on', () => {
  test.for(CHECKS)('%s', (name, { skip }) => run(ESME_CHECKS, name, LIBRARY_CLIENT, skip));
});

describe('our simulated SMSC and Kannel agree on', () => {
  const missing = kannelIsMissing();
  test.for(CHECKS)('%s', async (name, { skip }) => {
    if (missing !== undefined) return skip(missing);
    await run(ESME_CHECKS, name, KANNEL, skip);
  });
});
