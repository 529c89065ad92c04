import { sabotage } from './replace.ts';

// As servers do that check a signature only if there is one.
sabotage([
  {
    file: 'src/carriers/whatsapp/signature.ts',
    find: 'header !== undefined && constantTimeEqual(',
    put: 'header === undefined || constantTimeEqual(',
  },
]);
