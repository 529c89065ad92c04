import { sabotage } from './replace.ts';

// As servers do that check only whether there is a signature.
sabotage([
  {
    file: 'src/carriers/whatsapp/signature.ts',
    find: 'header !== undefined && constantTimeEqual(',
    put: 'header !== undefined || constantTimeEqual(',
  },
]);
