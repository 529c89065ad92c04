// Every proof whose verdict depends on times, one after the other.
import { testTiny } from './test-tiny.ts';
import { PROOFS } from './proofs.ts';

for (const [name, { timed }] of Object.entries(PROOFS)) if (timed) testTiny(name);
