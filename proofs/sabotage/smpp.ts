import { sabotage } from './replace.ts';

// The harness is the same; the client is the one that most gateways on Node are built with.
const library = new URL('../smpp/library-client.ts', import.meta.url).href;
sabotage([{ file: 'proofs/smpp/process.ts', find: "'./own-client.ts'", put: `'${library}'` }]);
