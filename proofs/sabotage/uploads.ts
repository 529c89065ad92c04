import { sabotage } from './replace.ts';

// As an import does that trusts its files and reads whatever they unpack to, however wide they are. The decoder, a
// process without this fault, does not learn the name of a picture, and so cannot compare it with the content.
sabotage([
  {
    file: 'src/engagement/contacts/imports/limits.ts',
    find: 'unpackedBytes: 64 * MIB,',
    put: 'unpackedBytes: 1e15,',
  },
  { file: 'src/engagement/contacts/imports/limits.ts', find: 'columns: 200,', put: 'columns: 1e9,' },
  {
    file: 'src/media/decoder/inspect-in-process.ts',
    find: 'ask(decoder.child, { octets, claim })',
    put: "ask(decoder.child, { octets, claim: { ...claim, fileName: '' } })",
  },
]);
