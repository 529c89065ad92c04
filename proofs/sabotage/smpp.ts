import { sabotage } from './replace.ts';

// The harness is the same; the client is the one that most gateways on Node are built with.
sabotage([{ file: 'proofs/smpp/process.ts', find: "'./own-client.ts'", put: "'./library-client.ts'" }]);
