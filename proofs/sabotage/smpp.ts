import { sabotage } from './replace.ts';

// The same harness with the client that most gateways on Node are built with.
const library = new URL('../smpp/library-client.ts', import.meta.url).href;
sabotage([{ file: 'proofs/smpp/process.ts', find: "'./own-client.ts'", put: `'${library}'` }]);
