// Every proof whose verdict depends on times, one after the other, and after all other tests (vitest.config.ts).

import { PROOFS } from './proofs.ts';
import { testTiny } from './test-tiny.ts';

for (const [name, { timed, isVariant }] of Object.entries(PROOFS)) if (timed && !isVariant) testTiny(name);
