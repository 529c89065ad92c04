// The proofs whose verdict does not depend on times and which odd.full.test.ts leaves out.
import { testTinyShare } from './test-tiny.ts';

testTinyShare({ first: 1, every: 2 });
