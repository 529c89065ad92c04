import { sabotage } from './replace.ts';

// As gateways do that keep no inbox: a receipt that matches nothing on arrival is forgotten.
sabotage([
  {
    file: 'src/messages/receipts.ts',
    find: 'if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);',
    put: '',
  },
]);
