// Runs a sandbox carrier as a separate process: `node proofs/lib/sandbox-process.ts '<SandboxOptions as JSON>'`. It
// is controlled by lines of JSON on stdin (src/sandbox/smsc.ts).
import { runSandbox } from '../../src/sandbox/smsc.ts';

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());
await runSandbox({
  ...JSON.parse(process.argv[2] ?? '{}'),
  signal: stop.signal,
  input: process.stdin,
  output: process.stdout,
});
process.exit();
