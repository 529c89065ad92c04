import { sabotage } from './replace.ts';

// As gateways do that keep no inbox: what cannot be matched on arrival is forgotten.
sabotage([
  {
    file: 'src/messaging/receipts/process.ts',
    find: 'if (unmatched.length > 0) await db.insertUnmatched(tx, unmatched);',
    put: '',
  },
]);
