import { sabotage } from './replace.ts';

// As an import does that trusts its files: whatever they unpack to, and however wide they are, is read.
sabotage([
  { file: 'src/contacts/imports/reading/limits.ts', find: 'unpackedBytes: 64 * MIB,', put: 'unpackedBytes: 1e15,' },
  { file: 'src/contacts/imports/reading/limits.ts', find: 'columns: 200,', put: 'columns: 1e9,' },
]);
