// Every second proof whose verdict does not depend on times, beginning with the first. One file with all of them would
// take longer than all other full tests, and a worker of the test runner takes whole files.
import { testTinyShare } from './test-tiny.ts';

testTinyShare({ first: 0, every: 2 });
