import { sabotage } from './replace.ts';

// As an import does that trusts its files: whatever they unpack to, and however wide they are, is read. A picture is what
// its name says.
sabotage([
  {
    file: 'src/engagement/contacts/imports/reading/limits.ts',
    find: 'unpackedBytes: 64 * MIB,',
    put: 'unpackedBytes: 1e15,',
  },
  { file: 'src/engagement/contacts/imports/reading/limits.ts', find: 'columns: 200,', put: 'columns: 1e9,' },
  {
    file: 'src/media/type.ts',
    find: 'if (extension !== undefined && !EXTENSIONS[type].includes(extension))',
    put: 'if (extension === undefined)',
  },
]);
