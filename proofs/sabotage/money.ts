import { sabotage } from './replace.ts';

const file = 'src/money/credit.ts';
// The value that was readBody may be out of date by the time the new one is written.
sabotage([
  {
    file,
    find: `locked AS MATERIALIZED (
          SELECT account_id FROM credit_balance WHERE account_id IN (SELECT account_id FROM moves)
          ORDER BY account_id FOR UPDATE),`,
    put: `locked AS MATERIALIZED (
          SELECT account_id, available_micros AS seen FROM credit_balance
          WHERE account_id IN (SELECT account_id FROM moves)),`,
  },
  { file, find: 'SET available_micros = b.available_micros + m.micros', put: 'SET available_micros = seen + m.micros' },
]);
