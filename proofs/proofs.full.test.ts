// Every proof whose verdict does not depend on times; the others are in timed.full.test.ts, so that each worker of the
// test runner has a part.
import { testTiny } from './test-tiny.ts';
import { PROOFS } from './proofs.ts';

for (const [name, { timed }] of Object.entries(PROOFS)) if (!timed) testTiny(name);
